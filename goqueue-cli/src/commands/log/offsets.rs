use goqueue::log::{
    LogAdmin, PartitionKey,
    store::{GroupOffsets, GroupPartition},
};

use super::{json, note_unknown};
use crate::{
    args::log::{OfGroup, Reset},
    confirm::confirm,
    failure::{Failure, Result},
    output::{
        self,
        human::{count, counted},
        table::{Look, Table},
    },
};

async fn rows(admin: &LogAdmin, args: &OfGroup) -> Result<Vec<GroupOffsets>> {
    let rows = admin.lag(&args.topic, args.group.as_ref()).await?;
    if rows.is_empty() && !args.output.json {
        note_unknown(admin, &args.topic).await?;
        match &args.group {
            Some(group) => eprintln!("note: group `{group}` does not read topic `{}`", args.topic),
            None => eprintln!("note: no group reads topic `{}`", args.topic),
        }
    }
    Ok(rows)
}

fn in_json(args: &OfGroup, rows: &[GroupOffsets]) -> Result {
    let line = |GroupOffsets { group, offsets }: &GroupOffsets| json::OffsetLine {
        group: group.to_string(),
        partition: offsets.partition.to_string(),
        acked: offsets.watermark,
        read: offsets.cursor,
        latest: offsets.head,
        collected: offsets.tail,
        lag: offsets.lag(),
    };
    output::json(&json::Offsets {
        topic: args.topic.to_string(),
        offsets: rows.iter().map(line).collect(),
    })
}

pub(super) async fn lag(admin: &LogAdmin, args: &OfGroup) -> Result {
    let rows = rows(admin, args).await?;
    if args.output.json {
        return in_json(args, &rows);
    }
    let mut table = Table::new(&["GROUP", "PARTITION", ">ACKED", ">LATEST", ">LAG"]);
    for GroupOffsets { group, offsets } in &rows {
        let lag = offsets.lag();
        let look = if lag > 0 { Look::Bad } else { Look::Plain };
        table.row(&[
            (group.as_str(), Look::Plain),
            (offsets.partition.as_str(), Look::Plain),
            (&offsets.watermark.to_string(), Look::Plain),
            (&offsets.head.to_string(), Look::Plain),
            (&count(lag), look),
        ]);
    }
    table.print()
}

pub(super) async fn list(admin: &LogAdmin, args: &OfGroup) -> Result {
    let rows = rows(admin, args).await?;
    if args.output.json {
        return in_json(args, &rows);
    }
    let mut table = Table::new(&[
        "GROUP",
        "PARTITION",
        ">COLLECTED",
        ">ACKED",
        ">READ",
        ">LATEST",
    ]);
    for GroupOffsets { group, offsets } in &rows {
        table.plain_row(&[
            group.as_str(),
            offsets.partition.as_str(),
            &offsets.tail.to_string(),
            &offsets.watermark.to_string(),
            &offsets.cursor.to_string(),
            &offsets.head.to_string(),
        ]);
    }
    table.print()
}

pub(super) async fn reset(admin: &LogAdmin, args: &Reset) -> Result {
    let (topic, group) = (&args.topic, &args.group);
    let partitions: Vec<PartitionKey> = match &args.partition {
        Some(partition) => vec![partition.clone()],
        None => {
            let rows = admin.lag(topic, Some(group)).await?;
            rows.into_iter().map(|row| row.offsets.partition).collect()
        }
    };
    let how_many = counted(partitions.len() as u64, "partition");
    let what = format!(
        "group `{group}` will go on behind offset {} on {how_many} of topic `{topic}`, and read again what \
         lies behind",
        args.to
    );
    confirm(&what, args.confirm.yes)?;
    let mut done = 0;
    for partition in partitions {
        let at = GroupPartition {
            topic: topic.clone(),
            group: group.clone(),
            partition,
        };
        let set = admin.reset_offset(&at, args.to).await?;
        let Some(set) = set else {
            return Err(Failure::new(format!(
                "group `{group}` does not read partition `{}` of topic `{topic}`",
                at.partition
            ))
            .help(format!(
                "`goqueue log offsets list {topic}` lists who reads what"
            )));
        };
        done += 1;
        if !args.output.json {
            let partition = output::human::plain(at.partition.as_str());
            output::text(&format!("{partition}: goes on behind offset {set}\n"))?;
        }
    }
    if args.output.json {
        let (topic, interrupted) = (topic.to_string(), false);
        return output::json(&json::Done {
            topic,
            done,
            interrupted,
        });
    }
    if done == 0 {
        note_unknown(admin, topic).await?;
        eprintln!("note: group `{group}` reads no partition of topic `{topic}`");
    }
    Ok(())
}
