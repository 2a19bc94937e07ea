//! Writes the first inputs of the fuzz target into a folder: the tests' archives as file, body, text and log.
//!
//! `cargo run -p schedules --example seeds -- schedules/fuzz/corpus/archive`

use std::path::PathBuf;

use schedules::file::{BuiltFor, HEADER_LEN};
use schedules::primitives::NodeOp;
use schedules::text::{Identity, dump, parse};
use schedules::trace::{Record, RecordKind, Trace};

const SMALL: &str = "
threads 1
site0 entry in f a:1
site1 sync pthread_mutex_lock in f a:2
object0 \"m\"
context0 @a:1
epoch0 slots 1 root step0 at context0
step0
slot 0
mutex_lock \"m\" @a:2
exit
";

fn main() {
    let folder = PathBuf::from(std::env::args_os().nth(1).expect("a folder for the seeds"));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let texts = [
        SMALL,
        include_str!("../tests/archives/everything.txt"),
        include_str!("../tests/archives/handover.txt"),
        include_str!("../tests/archives/relock.txt"),
    ];
    let write = |name: String, choice: u8, bytes: &[u8]| {
        // With and without the longer uses; see tests/hostile/exercise.rs.
        for (effort, bits) in [("short", 0), ("text", 0x40), ("reports", 0x80)] {
            let seed = [&[choice | bits], bytes].concat();
            let path = folder.join(format!("{name}-{effort}"));
            std::fs::write(path, seed).expect("the seed can be written");
        }
    };
    for (index, text) in texts.iter().enumerate() {
        let mut archive = parse(text).expect("the tests' archives are right");
        archive.program.fingerprint = [0; 16];
        let bytes = archive.to_bytes();
        write(format!("file{index}"), 0, &bytes);
        write(format!("body{index}"), 1, &bytes[HEADER_LEN..]);
        write(
            format!("text{index}"),
            2,
            dump(&archive, Identity::Hidden).as_bytes(),
        );
    }
    let record = |sequence, kind, op, site, what| Record {
        sequence,
        thread: 0,
        instance: 0,
        step: 0,
        position: 0,
        site,
        what,
        slot: 0,
        op,
        kind,
    };
    let trace = Trace {
        program: BuiltFor {
            fingerprint: [0; 16],
            plan: BuiltFor::ANY_PLAN,
        },
        records: vec![
            record(0, RecordKind::Epoch, NodeOp::Marker, 0, 0),
            record(1, RecordKind::Node, NodeOp::ThreadCreate, 1, 1),
            Record {
                step: 1,
                ..record(2, RecordKind::Decision, NodeOp::Marker, 2, 0)
            },
        ],
    };
    write("log".into(), 3, &trace.to_bytes());
}
