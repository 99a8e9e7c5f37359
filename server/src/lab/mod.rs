//! `cohort lab`: measurements that anybody can make again, of Cohort and, in the same run, of any
//! server that speaks MySQL's protocol.
//!
//! An experiment is a module with its options, what it measures and its report ([`tx_modes`],
//! [`fsync`], [`dtm`], [`workloads`], [`thread_pool`], [`group_commit`], [`search`], [`clocks`], [`connections`]). They share how servers are named and reached
//! ([`target`], [`server`], [`own`]), the least that a server does ([`null_server`]), a disk
//! that is slower ([`slow_disk`]), a connection
//! for what is done between measurements ([`control`]), sysbench's table and statements ([`table`],
//! [`workload`]), what is seen of commits ([`commits`]), the load [`generator`], and the form of what they find ([`report`]).

mod all;
mod clocks;
mod commits;
mod connections;
mod control;
mod dtm;
mod fsync;
mod generator;
mod group_commit;
mod interrupt;
mod null_server;
mod own;
mod random;
mod report;
mod rounds;
mod search;
mod server;
mod slow_disk;
mod table;
mod target;
mod temporary;
mod thread_pool;
mod tx_modes;
mod workload;
mod workloads;

pub(crate) use server::memory;

use clap::Subcommand;

/// The experiments.
#[derive(Debug, Subcommand)]
pub enum Experiment {
    /// Every experiment, in one report
    #[command(after_help = all::EXAMPLES, after_long_help = all::EXAMPLES)]
    All(Box<all::Options>),
    /// What a transaction around every SELECT costs
    #[command(after_help = tx_modes::EXAMPLES, after_long_help = tx_modes::EXAMPLES)]
    TxModes(Box<tx_modes::Options>),
    /// Transactions per second beside syncs per second: how many syncs commits need, of which files,
    /// and how long they take
    #[command(after_help = fsync::EXAMPLES, after_long_help = fsync::EXAMPLES)]
    Fsync(Box<fsync::Options>),
    /// A load, and twice the load with twice the clients: what group commit saves
    #[command(after_help = group_commit::EXAMPLES, after_long_help = group_commit::EXAMPLES)]
    GroupCommit(Box<group_commit::Options>),
    /// What servers do in a second: sysbench's workloads and some others
    #[command(after_help = workloads::EXAMPLES, after_long_help = workloads::EXAMPLES)]
    Workloads(Box<workloads::Options>),
    /// Throughput and latency from 16 to 16,384 connections, with and without transactions, for
    /// the modes of the scheduler and beside other servers
    #[command(after_help = thread_pool::EXAMPLES, after_long_help = thread_pool::EXAMPLES)]
    ThreadPool(Box<thread_pool::Options>),
    /// Searching texts: words that are in millions of rows
    #[command(after_help = search::EXAMPLES, after_long_help = search::EXAMPLES)]
    Search(Box<search::Options>),
    /// What performance_schema costs: the own server with it and without it
    #[command(after_help = clocks::EXAMPLES, after_long_help = clocks::EXAMPLES)]
    Clocks(Box<clocks::Options>),
    /// Memory of silent and of talking connections, and how long a login takes beside a full load
    Connections(Box<connections::Options>),
    /// What a coordinator of global transactions costs: DTM's published benchmark, made again
    #[command(after_help = dtm::EXAMPLES, after_long_help = dtm::EXAMPLES)]
    Dtm(Box<dtm::Options>),
    /// The null coordinator of `dtm`, which starts it
    #[command(hide = true)]
    Limit(Box<dtm::limit::Options>),
    /// The null server, which is the target `limit`
    #[command(hide = true)]
    NullServer(null_server::Options),
    /// A disk with slow syncs, which other experiments start
    #[command(hide = true)]
    SlowDisk(slow_disk::Options),
    /// A coordinator that is killed with very many unfinished transactions, and started again
    Backlog(Box<dtm::backlog::Options>),
    /// Put two reports that --json has written side by side
    Compare(report::compare::Options),
    /// Make one report of several
    #[command(after_help = report::join::EXAMPLES, after_long_help = report::join::EXAMPLES)]
    Join(report::join::Options),
}

/// Makes an experiment.
pub fn run(experiment: &Experiment) -> Result<(), String> {
    cohort_process::limits::raise_files();
    match experiment {
        Experiment::All(options) => watched(|| all::run(options)),
        Experiment::TxModes(options) => watched(|| tx_modes::run(options)),
        Experiment::Fsync(options) => watched(|| fsync::run(options)),
        Experiment::GroupCommit(options) => watched(|| group_commit::run(options)),
        Experiment::Workloads(options) => watched(|| workloads::run(options)),
        Experiment::ThreadPool(options) => watched(|| thread_pool::run(options)),
        Experiment::Search(options) => watched(|| search::run(options)),
        Experiment::Clocks(options) => watched(|| clocks::run(options)),
        Experiment::Connections(options) => watched(|| connections::run(options)),
        Experiment::Dtm(options) => watched(|| dtm::run(options)),
        Experiment::Limit(options) => dtm::limit::run(options),
        Experiment::NullServer(options) => null_server::run(options),
        Experiment::SlowDisk(options) => slow_disk::run(options),
        Experiment::Backlog(options) => dtm::backlog::run(options),
        Experiment::Compare(options) => report::compare::run(options),
        Experiment::Join(options) => report::join::run(options),
    }
}

/// Keeps what is done if the process is asked to end.
fn watched(run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    interrupt::watch();
    run()
}
