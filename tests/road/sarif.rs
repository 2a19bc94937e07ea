//! Every SARIF file that is written satisfies the schema of SARIF 2.1.0.
//!
//! `sarif-2.1.0.schema.json` is the schema that OASIS publishes (copyright OASIS Open), without its descriptions. [`violations`] knows
//! the keywords that it uses and refuses others, so that none is passed over.

use heddle_bench::verdicts;
use serde_json::Value;

use crate::workshop::Workshop;

const SCHEMA: &str = include_str!("sarif-2.1.0.schema.json");

struct Schema(Value);

impl Schema {
    fn new() -> Self {
        Self(serde_json::from_str(SCHEMA).expect("JSON"))
    }

    /// Where and how a document breaks the schema.
    fn violations(&self, document: &Value) -> Vec<String> {
        let mut found = Vec::new();
        self.check(&self.0, document, "", &mut found);
        found
    }

    fn check(&self, rule: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
        for (keyword, says) in rule.as_object().expect("a rule is an object") {
            let holds = match keyword.as_str() {
                "$ref" => {
                    let name = says.as_str().and_then(|name| name.strip_prefix('#'));
                    let rule = name.and_then(|name| self.0.pointer(name));
                    self.check(rule.expect("the schema is whole"), value, at, found);
                    true
                }
                "type" => match says {
                    Value::Array(all) => all.iter().any(|one| is_type(one, value)),
                    one => is_type(one, value),
                },
                "enum" => says.as_array().is_some_and(|all| all.contains(value)),
                "minimum" => value.as_f64().is_none_or(|v| v >= number(says)),
                "maximum" => value.as_f64().is_none_or(|v| v <= number(says)),
                "minItems" => value
                    .as_array()
                    .is_none_or(|all| all.len() as f64 >= number(says)),
                "uniqueItems" => value.as_array().is_none_or(|all| {
                    let mut rest = all.iter().enumerate();
                    rest.all(|(index, one)| !all[..index].contains(one))
                }),
                "required" => value.as_object().is_none_or(|fields| {
                    let mut names = says.as_array().into_iter().flatten();
                    names.all(|name| fields.contains_key(name.as_str().unwrap_or_default()))
                }),
                "anyOf" => self.fitting(says, value) > 0,
                "oneOf" => self.fitting(says, value) == 1,
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(says, item, &format!("{at}/{index}"), found);
                    }
                    true
                }
                "properties" => {
                    for (name, rule) in says.as_object().into_iter().flatten() {
                        if let Some(field) = value.get(name) {
                            self.check(rule, field, &format!("{at}/{name}"), found);
                        }
                    }
                    true
                }
                "additionalProperties" => self.others(rule, says, value, at, found),
                // Only identifiers and media types have one, and no file of ours has those.
                "pattern" => false,
                "format" => true,
                "title" | "default" | "definitions" | "$schema" | "id" => true,
                other => panic!("a keyword that is not known: {other}"),
            };
            if !holds {
                found.push(format!("{at}: {keyword} {says}"));
            }
        }
    }

    fn others(
        &self,
        rule: &Value,
        says: &Value,
        value: &Value,
        at: &str,
        found: &mut Vec<String>,
    ) -> bool {
        let known = |name: &String| rule["properties"].get(name).is_some();
        let fields = value.as_object().into_iter().flatten();
        let mut others = fields.filter(|(name, _)| !known(name)).peekable();
        if says.is_boolean() {
            return says == &Value::Bool(true) || others.peek().is_none();
        }
        for (name, field) in others {
            self.check(says, field, &format!("{at}/{name}"), found);
        }
        true
    }

    /// How many of several rules a value satisfies.
    fn fitting(&self, rules: &Value, value: &Value) -> usize {
        let fits = |rule: &&Value| {
            let mut found = Vec::new();
            self.check(rule, value, "", &mut found);
            found.is_empty()
        };
        rules.as_array().into_iter().flatten().filter(fits).count()
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn is_type(name: &Value, value: &Value) -> bool {
    match name.as_str().expect("a name") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("no such type: {other}"),
    }
}

#[track_caller]
fn validate(workshop: &Workshop, schema: &Schema, name: &str) -> Value {
    let text = std::fs::read_to_string(workshop.path("report.sarif")).expect("written");
    let log: Value = serde_json::from_str(&text).expect("JSON");
    let found = schema.violations(&log);
    assert!(found.is_empty(), "{name}: {found:#?}");
    log
}

/// Findings of every kind, certain and possible, with and without a place; warnings; gaps.
#[test]
fn reports_on_the_deadlock_programs_validate() {
    let workshop = Workshop::new();
    let schema = Schema::new();
    let mut rules = std::collections::BTreeSet::new();
    let words = ["_3_", "_broken", "relock"].map(str::to_owned);
    for program in verdicts::programs(&words).unwrap() {
        if program.name.contains("_5_") || program.name.contains("_7_") {
            continue;
        }
        let source = program.source.to_str().expect("a name in the corpus");
        let mut command = vec!["check", "--native", "--fail-on=nothing", "--states=2000"];
        let assumed = format!("--assume=argv[1]==\"{}\"", program.threads);
        if program.name.contains("_3_") {
            command.push(&assumed);
        }
        command.extend(["--sarif", "report.sarif", source, "--"]);
        command.extend(program.defines.iter().map(String::as_str));
        workshop.heddle(command).exits(0);
        let log = validate(&workshop, &schema, &program.name);
        for result in log["runs"][0]["results"].as_array().into_iter().flatten() {
            rules.insert(result["ruleId"].as_str().unwrap_or_default().to_owned());
        }
    }
    for rule in ["HD0101", "HD0102", "HD0103", "HD0104", "HD0107", "HD0301"] {
        assert!(rules.contains(rule), "{rule} is not among {rules:?}");
    }
}

/// The validator sees what is wrong.
#[test]
fn a_broken_file_does_not_validate() {
    let schema = Schema::new();
    let good = serde_json::json!({
        "version": "2.1.0",
        "runs": [{ "tool": { "driver": { "name": "heddle" } }, "results": [{ "message": { "text": "x" } }] }]
    });
    assert_eq!(schema.violations(&good), Vec::<String>::new());
    let mut without_name = good.clone();
    without_name["runs"][0]["tool"]["driver"] = serde_json::json!({});
    let mut wrong_level = good.clone();
    wrong_level["runs"][0]["results"][0]["level"] = "fatal".into();
    let mut strange_field = good.clone();
    strange_field["runs"][0]["resultz"] = serde_json::json!([]);
    let mut early_line = good;
    early_line["runs"][0]["results"][0]["locations"] =
        serde_json::json!([{ "physicalLocation": { "region": { "startLine": 0 } } }]);
    for broken in [without_name, wrong_level, strange_field, early_line] {
        assert!(!schema.violations(&broken).is_empty(), "{broken}");
    }
}
