//! The bench itself: golden counts of the corpus, tables of a small subset, and projects that give trouble.

use std::path::Path;

use heddle_bench::tables::records::{self, Records, count, of_kind, text};
use heddle_bench::tables::{self, golden, growth, real, subject};

#[test]
fn every_quick_program_has_its_golden_counts() {
    let mut subjects = subject::of_corpus(&[]).expect("the manifest reads");
    subjects.retain(|subject| !subject.program.slow);
    let (differing, said) = golden::check(&subjects, 120).expect("the corpus can be enumerated");
    assert_eq!(differing, 0, "\n{said}");
}

#[test]
fn every_program_has_a_golden_line() {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return; // The test above is writing them.
    }
    let golden = golden::read().expect("the golden file reads");
    for subject in subject::of_corpus(&[]).expect("the manifest reads") {
        assert!(golden.contains_key(subject.name()), "{}", subject.name());
    }
}

fn newest(folder: &Path) -> Vec<records::Record> {
    let mut runs = std::fs::read_dir(folder.join("runs")).unwrap();
    records::read(&runs.next().unwrap().unwrap().path()).unwrap()
}

#[test]
fn a_subset_gives_tables_page_and_records() {
    let folder = tempfile::tempdir().unwrap();
    let plan = tables::Plan {
        names: vec!["elastic".into(), "blocklu_contiguous".into()],
        only: "13".into(),
        seconds: 60,
        times: 3,
        folder: folder.path().to_owned(),
    };
    tables::run(&plan).unwrap();
    let records = newest(folder.path());
    let elastic = of_kind(&records, "enumeration").find(|r| text(r, "program") == "elastic");
    assert_eq!(count(elastic.unwrap(), "schedules"), Some(1));
    let run = of_kind(&records, "runtime").next().unwrap();
    assert_eq!(text(run, "reason"), "");
    assert!(run["native"].as_array().unwrap().len() >= 3);
    let page = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(page.contains("blocklu_contiguous") && page.contains("<svg"));
    assert!(!page.contains("http"), "the page fetches nothing");
}

#[test]
fn growth_families_compile() {
    let folder = tempfile::tempdir().unwrap();
    growth::compile_all(folder.path()).unwrap();
}

const GOOD: &str = "\
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;
static void *worker(void *unused)
{
    pthread_mutex_lock(&lock);
    sum++;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(int argc, char **argv)
{
    (void)argv;
    pthread_t other;
    pthread_create(&other, NULL, worker, NULL);
    worker(NULL);
    pthread_join(other, NULL);
    printf(\"ok %d %d\\n\", sum, argc);
    return 0;
}
";

#[test]
fn one_projects_trouble_is_a_row() {
    let folder = tempfile::tempdir().unwrap();
    let project = |name: &str, files: &[(&str, &str)]| {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        for (file, text) in files {
            std::fs::write(path.join(file), text).unwrap();
        }
    };
    let sources = "[program]\nsources = \"prog.c -lpthread\"\ntiny = \"1\"\ncounts = \"2\"\n";
    project("a-empty", &[]);
    project(
        "b-fails",
        &[(
            "heddle.toml",
            "[program]\nbuild = \"false\"\nbinary = \"x\"\ntiny = \"\"\n",
        )],
    );
    project("c-bad", &[("heddle.toml", "[program]\nnonsense = \"1\"\n")]);
    project(
        "d-wrong",
        &[
            ("heddle.toml", sources),
            ("prog.c", "int main(void) { return 3; }"),
        ],
    );
    project("e-good", &[("heddle.toml", sources), ("prog.c", GOOD)]);
    let out = folder.path().join("e-good/out");
    let records = Records::create(&out.join("runs"), "real").unwrap();
    assert!(real::run(folder.path(), &[], records).unwrap());
    let records = newest(&out);
    let rows: Vec<_> = of_kind(&records, "real").collect();
    assert_eq!(rows.len(), 5);
    for (row, said) in rows.iter().zip([
        "no heddle.toml",
        "`false`",
        "unknown key",
        "at no number of threads",
    ]) {
        assert!(text(row, "trouble").contains(said), "{row:?}");
    }
    assert_eq!(text(rows[4], "ended"), "complete", "{:?}", rows[4]);
    assert_eq!(count(rows[4], "good"), Some(1));
}
