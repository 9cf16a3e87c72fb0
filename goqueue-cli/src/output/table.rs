//! Tables: aligned columns without lines between them, one row per line.

use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Width, presets,
};

use super::{human::plain, style};

/// The widest that a last column becomes on a terminal that is too narrow for it.
const NARROWEST: u16 = 10;

/// How a cell stands out, where there is colour.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Plain,
    Bad,
}

/// Rows under a head. The last column is cut to the width of the terminal; into a pipe everything
/// goes whole.
pub(crate) struct Table {
    inner: comfy_table::Table,
    columns: usize,
    widest: Vec<usize>,
    has_colour: bool,
}

impl Table {
    /// A name that begins with `>` makes its column one of numbers, aligned to the right.
    pub(crate) fn new(names: &[&str]) -> Self {
        let has_colour = style::has_colour(&std::io::stdout());
        let mut inner = comfy_table::Table::new();
        inner
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_truncation_indicator("…");
        if has_colour {
            inner.enforce_styling();
        } else {
            inner.force_no_tty();
        }
        let head = names.iter().map(|name| {
            let cell = Cell::new(name.trim_start_matches('>'));
            if has_colour {
                cell.add_attribute(Attribute::Bold)
            } else {
                cell
            }
        });
        inner.set_header(Row::from(head.collect::<Vec<_>>()));
        for (at, column) in inner.column_iter_mut().enumerate() {
            let is_last = at + 1 == names.len();
            column.set_padding((0, if is_last { 0 } else { 2 }));
            if names[at].starts_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        Self {
            inner,
            columns: names.len(),
            widest: names
                .iter()
                .map(|name| name.trim_start_matches('>').len())
                .collect(),
            has_colour,
        }
    }

    pub(crate) fn row(&mut self, cells: &[(&str, Look)]) {
        let cells = cells.iter().enumerate().map(|(at, (text, look))| {
            let text = plain(text);
            self.widest[at] = self.widest[at].max(text.chars().count());
            let cell = Cell::new(text);
            match look {
                Look::Bad if self.has_colour => cell.fg(comfy_table::Color::Red),
                _ => cell,
            }
        });
        let mut row = Row::from(cells.collect::<Vec<_>>());
        row.max_height(1);
        self.inner.add_row(row);
    }

    pub(crate) fn plain_row(&mut self, cells: &[&str]) {
        let cells: Vec<_> = cells.iter().map(|text| (*text, Look::Plain)).collect();
        self.row(&cells);
    }

    pub(crate) fn print(mut self) -> crate::failure::Result {
        if let Some(width) = style::width() {
            self.cut_to(width);
        }
        super::text(&self.lines())
    }

    fn cut_to(&mut self, width: u16) {
        let others: usize = self.widest[..self.columns - 1].iter().map(|w| w + 2).sum();
        let left = usize::from(width).saturating_sub(others + 1);
        let left = u16::try_from(left).unwrap_or(u16::MAX).max(NARROWEST);
        self.inner
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::MAX);
        if let Some(last) = self.inner.column_mut(self.columns - 1) {
            last.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(left)));
        }
    }

    fn lines(&self) -> String {
        let mut text = String::new();
        for line in self.inner.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["QUEUE", ">DEAD", "ERROR"]);
        table.plain_row(&["mail", "1,200", "no route to the host of the post office"]);
        table.plain_row(&["a-longer-name", "3", "x\ny"]);
        table
    }

    #[test]
    fn columns_are_aligned_and_nothing_trails() {
        let expected = "\
QUEUE           DEAD  ERROR
mail           1,200  no route to the host of the post office
a-longer-name      3  x y
";
        assert_eq!(table().lines(), expected);
    }

    #[test]
    fn the_last_column_is_cut_to_the_screen() {
        let mut table = table();
        table.cut_to(40);
        let text = table.lines();
        assert!(
            text.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
        assert!(text.contains("1,200  no route to the"), "{text}");
        assert_eq!(text.lines().count(), 3, "{text}");
    }
}
