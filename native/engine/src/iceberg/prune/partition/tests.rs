//! A partition that holds a matching row is never pruned, by its tuple or by a manifest's summary; and some are.

use super::*;
use crate::iceberg::manifest::{
    DataContent, Entry, FileFormat, ManifestContent, ManifestSpec, read_manifest,
    read_manifest_list, write_manifest,
};
use crate::iceberg::manifest::{ListSpec, write_manifest_list};
use crate::iceberg::predicate::CompareOp;
use crate::iceberg::predicate::tests::{domains, leaves, naive, tree};
use crate::iceberg::prune::tests::type_of;
use crate::iceberg::schema::Field;
use crate::iceberg::tests::Random;

const SOURCE: i32 = 1;

fn schema(ty: Type) -> Schema {
    Schema::new(0, vec![Field::new(SOURCE, "c", false, ty)]).unwrap()
}

fn spec(transforms: &[Transform]) -> PartitionSpec {
    let field = |(transform, id): (&Transform, i32)| PartitionField {
        source_ids: vec![SOURCE],
        field_id: id,
        name: format!("p{id}"),
        transform: transform.clone(),
    };
    PartitionSpec {
        spec_id: 0,
        fields: transforms.iter().zip(1000..).map(field).collect(),
    }
}

/// A file of the partition that `row` falls into.
fn file(spec: &PartitionSpec, row: Option<&Value>) -> DataFile {
    let value = |field: &PartitionField| {
        let value = row.and_then(|row| match (&field.transform, row) {
            // What Java's cast makes of hours beyond 32 bits.
            (Transform::Hour, Value::Timestamp(us) | Value::TimestampTz(us)) => {
                Some(Value::Int(us.div_euclid(HOUR_US) as i32))
            }
            (transform, row) => transform.apply(row).unwrap(),
        });
        (
            field.field_id,
            value.as_ref().map(PartitionValue::from_value),
        )
    };
    DataFile {
        partition: spec.fields.iter().map(value).collect(),
        ..DataFile::new(DataContent::Data, "f", FileFormat::Parquet, 1, 1)
    }
}

/// The row of the manifest list, as written and read again.
fn manifest(spec: &PartitionSpec, schema: &Schema, files: &[DataFile]) -> ManifestFile {
    let manifest = ManifestSpec {
        format_version: 2,
        schema,
        spec,
        content: ManifestContent::Data,
        snapshot_id: 1,
    };
    let entries: Vec<Entry> = files.iter().map(|f| Entry::added(1, f.clone())).collect();
    let (bytes, written) = write_manifest(&manifest, "m", &entries).unwrap();
    let read: Vec<DataFile> = read_manifest(&bytes, &written)
        .unwrap()
        .into_iter()
        .map(|e| e.data_file)
        .collect();
    assert_eq!(read, files);
    let list = ListSpec {
        format_version: 2,
        snapshot_id: 1,
        parent_snapshot_id: None,
        sequence_number: 1,
        next_row_id: None,
    };
    let list = write_manifest_list(&list, &[written]).unwrap();
    read_manifest_list(&list.bytes).unwrap().remove(0)
}

fn transforms(ty: &Type) -> Vec<Transform> {
    [
        Transform::Identity,
        Transform::Bucket(3),
        Transform::Truncate(1),
        Transform::Truncate(10),
        Transform::Truncate(1_000_003),
        Transform::Year,
        Transform::Month,
        Transform::Day,
        Transform::Hour,
        Transform::Void,
    ]
    .into_iter()
    .filter(|t| t.takes(ty))
    .collect()
}

/// Values of the domain with neighbours around the edges of partitions.
fn widened(domain: &[Value], random: &mut Random) -> Vec<Value> {
    let mut values = domain.to_vec();
    for _ in 0..12 {
        let near = random.below(2_000) as i64 - 1_000;
        let hours = near * 3_600_000_000 + random.below(3) as i64 - 1;
        values.push(match &domain[0] {
            Value::Int(_) => {
                Value::Int([near as i32, i32::MIN + near.unsigned_abs() as i32][random.below(2)])
            }
            Value::Long(_) => {
                Value::Long([near, i64::MIN + near.abs(), i64::MAX - near.abs()][random.below(3)])
            }
            Value::Decimal {
                precision, scale, ..
            } => Value::Decimal {
                unscaled: near.into(),
                precision: *precision,
                scale: *scale,
            },
            Value::Date(_) => Value::Date(near as i32),
            Value::Timestamp(_) => {
                Value::Timestamp([hours, i64::MAX - hours.abs()][random.below(2)])
            }
            Value::TimestampTz(_) => Value::TimestampTz(hours),
            other => other.clone(),
        });
    }
    values
}

#[test]
fn a6_partition_with_a_matching_row_is_never_pruned() {
    let mut random = Random(11);
    let (mut pruned, mut manifests_pruned, mut tried) = (0, 0, 0);
    for domain in domains() {
        let schema = schema(type_of(&domain[0]));
        let values = widened(&domain, &mut random);
        let leaves = leaves(&values);
        let known = transforms(&type_of(&domain[0]));
        let mut specs: Vec<_> = known
            .iter()
            .map(|t| spec(std::slice::from_ref(t)))
            .collect();
        specs.push(spec(&known));
        for spec in specs {
            let mut rows: Vec<Option<Value>> = values.iter().cloned().map(Some).collect();
            rows.push(None);
            for _ in 0..8 {
                let chosen: Vec<_> = (0..1 + random.below(3))
                    .map(|_| rows[random.below(rows.len())].clone())
                    .collect();
                let files: Vec<_> = chosen.iter().map(|r| file(&spec, r.as_ref())).collect();
                let manifest = manifest(&spec, &schema, &files);
                let trees = (0..40).map(|_| tree(&mut random, &leaves, 3));
                for predicate in leaves.iter().cloned().chain(trees.collect::<Vec<_>>()) {
                    let matches = |r: &Option<Value>| naive(&predicate, r.as_ref()) == Some(true);
                    for (row, file) in chosen.iter().zip(&files) {
                        let kept = may_match_partition(&predicate, file, &spec, &schema);
                        assert!(
                            kept || !matches(row),
                            "{predicate:?}: {row:?} in {file:?} by {spec:?}"
                        );
                        tried += 1;
                        pruned += usize::from(!kept);
                    }
                    let kept = may_match_manifest(&predicate, &manifest, &spec, &schema);
                    assert!(
                        kept || !chosen.iter().any(matches),
                        "{predicate:?}: {chosen:?} in {manifest:?} by {spec:?}"
                    );
                    manifests_pruned += usize::from(!kept);
                }
            }
        }
    }
    assert!(pruned * 4 > tried, "only {pruned} of {tried} are pruned");
    assert!(
        manifests_pruned * 10 > tried,
        "only {manifests_pruned} manifests of {tried} files"
    );
}

fn compare(op: CompareOp, value: Value) -> Predicate {
    Predicate::Compare {
        column: SOURCE,
        op,
        value,
    }
}

fn summary(lower: Option<Value>, upper: Option<Value>) -> FieldSummary {
    FieldSummary {
        contains_null: false,
        contains_nan: None,
        lower_bound: lower.as_ref().map(value::encode),
        upper_bound: upper.as_ref().map(value::encode),
    }
}

fn with_summaries(summaries: Option<Vec<FieldSummary>>) -> ManifestFile {
    ManifestFile {
        partitions: summaries,
        ..ManifestFile::from_path("m", 1)
    }
}

#[test]
fn r_av4_summary_without_bounds_prunes_only_what_is_null_by_rule() {
    let (schema, spec) = (schema(Type::Int), spec(&[Transform::Identity]));
    let is_five = compare(CompareOp::Eq, Value::Int(5));
    let keeps = |manifest: &ManifestFile| may_match_manifest(&is_five, manifest, &spec, &schema);
    let broken = summary(None, None);
    let all_null = FieldSummary {
        contains_null: true,
        ..broken.clone()
    };
    let undecodable = FieldSummary {
        lower_bound: Some(vec![1]),
        upper_bound: Some(vec![2, 2, 2]),
        ..broken.clone()
    };
    let six = summary(Some(Value::Int(6)), Some(Value::Int(6)));
    assert!(keeps(&with_summaries(None)));
    assert!(keeps(&with_summaries(Some(vec![broken.clone()]))));
    assert!(keeps(&with_summaries(Some(vec![undecodable]))));
    assert!(!keeps(&with_summaries(Some(vec![all_null.clone()]))));
    assert!(!keeps(&with_summaries(Some(vec![six.clone()]))));
    assert!(
        keeps(&with_summaries(Some(vec![six.clone(), six]))),
        "of another spec"
    );
    let is_null = Predicate::IsNull { column: SOURCE };
    let nulls = |s: FieldSummary| {
        may_match_manifest(&is_null, &with_summaries(Some(vec![s])), &spec, &schema)
    };
    assert!(nulls(all_null) && !nulls(broken));
}

#[test]
fn r_av4_summary_of_floats_leaves_out_nan_and_knows_one_zero() {
    let (schema, spec) = (schema(Type::Double), spec(&[Transform::Identity]));
    let zeros = summary(Some(Value::Double(-0.0)), Some(Value::Double(-0.0)));
    let keeps = |predicate: &Predicate, s: &FieldSummary| {
        may_match_manifest(
            predicate,
            &with_summaries(Some(vec![s.clone()])),
            &spec,
            &schema,
        )
    };
    assert!(keeps(&compare(CompareOp::Eq, Value::Double(0.0)), &zeros));
    assert!(!keeps(&compare(CompareOp::Lt, Value::Double(0.0)), &zeros));
    let greater = compare(CompareOp::Gt, Value::Double(1.0));
    assert!(keeps(&greater, &zeros), "NaN may be there, and is greater");
    let counted = FieldSummary {
        contains_nan: Some(false),
        ..zeros
    };
    assert!(!keeps(&greater, &counted));
    let all_nan_or_null = FieldSummary {
        contains_null: true,
        contains_nan: Some(true),
        ..summary(None, None)
    };
    assert!(keeps(
        &Predicate::IsNan { column: SOURCE },
        &all_nan_or_null
    ));
}

#[test]
fn r_av5_day_is_an_int_or_a_date() {
    let (schema, spec) = (schema(Type::Timestamp), spec(&[Transform::Day]));
    let on = |day: i64| compare(CompareOp::GtEq, Value::Timestamp(day * DAY_US));
    let day = DataFile {
        partition: vec![(1000, Some(PartitionValue::Integer(19_000)))],
        ..file(&spec, None)
    };
    for value in [Value::Int(19_000), Value::Date(19_000)] {
        let manifest = with_summaries(Some(vec![summary(Some(value.clone()), Some(value))]));
        assert!(may_match_manifest(&on(19_000), &manifest, &spec, &schema));
        assert!(!may_match_manifest(&on(19_001), &manifest, &spec, &schema));
    }
    assert!(may_match_partition(&on(19_000), &day, &spec, &schema));
    assert!(!may_match_partition(&on(19_001), &day, &spec, &schema));
}

#[test]
fn r_ty3_source_inside_a_struct_prunes_and_inside_a_list_does_not() {
    let member = Field::new(SOURCE, "m", false, Type::Int);
    let nested = |ty| Schema::new(0, vec![Field::new(9, "s", false, ty)]).unwrap();
    let spec = spec(&[Transform::Identity]);
    let file = file(&spec, Some(&Value::Int(5)));
    let is_six = compare(CompareOp::Eq, Value::Int(6));
    let in_struct = nested(Type::Struct(vec![member.clone()]));
    let in_list = nested(Type::List(Box::new(member)));
    assert!(!may_match_partition(&is_six, &file, &spec, &in_struct));
    assert!(may_match_partition(&is_six, &file, &spec, &in_list));
}

#[test]
fn r_av3_spec_of_a_dropped_column_an_unknown_transform_or_another_tuple_prunes_nothing() {
    let is_six = compare(CompareOp::Eq, Value::Int(6));
    let mut dropped = spec(&[Transform::Identity, Transform::Identity]);
    dropped.fields[0].source_ids = vec![77];
    let five = file(&dropped, Some(&Value::Int(5)));
    assert!(!may_match_partition(
        &is_six,
        &five,
        &dropped,
        &schema(Type::Int)
    ));
    dropped.fields.truncate(1);
    assert!(may_match_partition(
        &is_six,
        &five,
        &dropped,
        &schema(Type::Int)
    ));

    let mut unknown = spec(&[Transform::Unknown("zorder".into())]);
    assert!(may_match_partition(
        &is_six,
        &five,
        &unknown,
        &schema(Type::Int)
    ));
    unknown.fields[0].transform = Transform::Identity;
    unknown.fields[0].source_ids = vec![SOURCE, 2];
    assert!(may_match_partition(
        &is_six,
        &five,
        &unknown,
        &schema(Type::Int)
    ));

    let identity = spec(&[Transform::Identity]);
    let text = DataFile {
        partition: vec![(1000, Some(PartitionValue::String("5".into())))],
        ..five
    };
    assert!(may_match_partition(
        &is_six,
        &text,
        &identity,
        &schema(Type::Int)
    ));
}

#[test]
fn a6_wrapped_truncation_of_the_least_numbers_is_found() {
    let spec = spec(&[Transform::Truncate(10)]);
    let least = file(&spec, Some(&Value::Int(i32::MIN)));
    for (ty, literal) in [
        (Type::Int, Value::Int(i32::MIN)),
        (Type::Long, Value::Long(i64::from(i32::MIN))),
    ] {
        let (schema, below) = (schema(ty), compare(CompareOp::LtEq, literal));
        assert!(may_match_partition(&below, &least, &spec, &schema));
        let range = summary(Some(Value::Int(20)), Some(Value::Int(i32::MAX - 7)));
        let manifest = with_summaries(Some(vec![range]));
        assert!(may_match_manifest(&below, &manifest, &spec, &schema));
        let range = summary(Some(Value::Int(20)), Some(Value::Int(40)));
        let manifest = with_summaries(Some(vec![range]));
        assert!(!may_match_manifest(&below, &manifest, &spec, &schema));
    }
}

#[test]
fn a6_units_up_to_1970_may_hold_what_old_writers_rounded_towards_it() {
    let (schema, spec) = (schema(Type::Timestamp), spec(&[Transform::Day]));
    let epoch = file(&spec, Some(&Value::Timestamp(0)));
    let before = |us| compare(CompareOp::Lt, Value::Timestamp(us));
    assert!(may_match_partition(&before(0), &epoch, &spec, &schema));
    assert!(!may_match_partition(
        &before(-DAY_US),
        &epoch,
        &spec,
        &schema
    ));
    let next = file(&spec, Some(&Value::Timestamp(DAY_US)));
    assert!(!may_match_partition(&before(DAY_US), &next, &spec, &schema));
}
