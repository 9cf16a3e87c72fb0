use goqueue::log::{
    LogAdmin,
    store::{GroupPartition, LeaseInfo},
};

use super::json;
use crate::{
    args::{
        Output,
        log::{LeaseList, Release, Stale},
    },
    confirm::confirm,
    failure::Result,
    output::{
        self,
        human::age,
        table::{Look, Table},
    },
};

pub(super) async fn list(admin: &LogAdmin, args: &LeaseList) -> Result {
    let leases = admin
        .leases(args.topic.as_ref(), args.group.as_ref())
        .await?;
    print(&leases, args.output)
}

pub(super) async fn stale(admin: &LogAdmin, args: &Stale) -> Result {
    print(&admin.stale_leases(args.threshold).await?, args.output)
}

fn print(leases: &[LeaseInfo], output: Output) -> Result {
    if output.json {
        let leases = leases.iter().map(json::Lease::new).collect();
        return output::json(&json::Leases { leases });
    }
    if leases.is_empty() {
        eprintln!("note: there is no such lease");
    }
    let mut table = Table::new(&["TOPIC", "GROUP", "PARTITION", "SUBSCRIBER", "LEASE"]);
    for lease in leases {
        let (holds, look) = if lease.is_held() {
            (format!("holds for {}", age(lease.expires_in)), Look::Plain)
        } else {
            (format!("ran out {} ago", age(lease.expired_for)), Look::Bad)
        };
        table.row(&[
            (lease.at.topic.as_str(), Look::Plain),
            (lease.at.group.as_str(), Look::Plain),
            (lease.at.partition.as_str(), Look::Plain),
            (&lease.subscriber.to_string(), Look::Plain),
            (&holds, look),
        ]);
    }
    table.print()
}

pub(super) async fn release(admin: &LogAdmin, args: &Release) -> Result {
    let at = GroupPartition {
        topic: args.topic.clone(),
        group: args.group.clone(),
        partition: args.partition.clone(),
    };
    confirm(
        &format!("this takes {at} away from whoever reads it"),
        args.confirm.yes,
    )?;
    let is_done = admin.release_lease(&at).await?;
    if args.output.json {
        return output::json(&json::Done {
            topic: args.topic.to_string(),
            done: u64::from(is_done),
            interrupted: false,
        });
    }
    let said = if is_done { "released" } else { "nobody had" };
    output::text(&format!("{said} the lease on {at}\n"))
}
