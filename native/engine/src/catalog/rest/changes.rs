//! What a commit changes, told by comparing two documents: the server is sent requirements on the base and updates
//! to it, never a whole document. What the server keeps up by itself (time, logs, sequence numbers, the last ids)
//! is left out; a change that has no update is refused rather than lost.

use serde_json::{Map, Value as Json, json};

use crate::error::{Error, Result};

/// Kept up by the server, or the old form of another key.
const DERIVED: [&str; 10] = [
    "last-sequence-number",
    "last-updated-ms",
    "next-row-id",
    "snapshot-log",
    "metadata-log",
    "current-snapshot-id",
    "last-column-id",
    "last-partition-id",
    "schema",
    "partition-spec",
];
const COMPARED: [&str; 13] = [
    "format-version",
    "table-uuid",
    "location",
    "schemas",
    "current-schema-id",
    "partition-specs",
    "default-spec-id",
    "sort-orders",
    "default-sort-order-id",
    "properties",
    "snapshots",
    "refs",
    "statistics",
];
const LAST_ADDED: i64 = -1;

/// The body of a commit.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) requirements: Vec<Json>,
    pub(super) updates: Vec<Json>,
    /// The snapshots that it adds, by which its landing is told.
    pub(super) snapshots: Vec<i64>,
}

/// A list whose members have ids, one of which is current.
struct Versioned {
    list: &'static str,
    id: &'static str,
    current: &'static str,
    add: &'static str,
    member: &'static str,
    set: &'static str,
    set_id: &'static str,
    require: &'static str,
    /// The key of the highest id below, and the requirement on it.
    last: Option<(&'static str, &'static str, &'static str)>,
}

const SCHEMAS: Versioned = Versioned {
    list: "schemas",
    id: "schema-id",
    current: "current-schema-id",
    add: "add-schema",
    member: "schema",
    set: "set-current-schema",
    set_id: "schema-id",
    require: "assert-current-schema-id",
    last: Some((
        "last-column-id",
        "assert-last-assigned-field-id",
        "last-assigned-field-id",
    )),
};
const SPECS: Versioned = Versioned {
    list: "partition-specs",
    id: "spec-id",
    current: "default-spec-id",
    add: "add-spec",
    member: "spec",
    set: "set-default-spec",
    set_id: "spec-id",
    require: "assert-default-spec-id",
    last: Some((
        "last-partition-id",
        "assert-last-assigned-partition-id",
        "last-assigned-partition-id",
    )),
};
const ORDERS: Versioned = Versioned {
    list: "sort-orders",
    id: "order-id",
    current: "default-sort-order-id",
    add: "add-sort-order",
    member: "sort-order",
    set: "set-default-sort-order",
    set_id: "sort-order-id",
    require: "assert-default-sort-order-id",
    last: None,
};

/// The commit that leads from `base` to `new`. Errors: Unsupported for a change that cannot be sent.
pub(super) fn changes(base: &[u8], new: &[u8]) -> Result<Changes> {
    let (base, new) = (document(base)?, document(new)?);
    for key in base.keys().chain(new.keys()) {
        let known = COMPARED.contains(&key.as_str()) || DERIVED.contains(&key.as_str());
        if !known && base.get(key) != new.get(key) {
            return Err(cannot_send(key));
        }
    }
    let mut changes = Changes::default();
    let uuid = base.get("table-uuid").cloned().unwrap_or_default();
    if new.get("table-uuid") != Some(&uuid) {
        return Err(cannot_send("table-uuid"));
    }
    changes
        .requirements
        .push(json!({"type": "assert-table-uuid", "uuid": uuid}));
    changes.scalar(&base, &new, "format-version", "upgrade-format-version");
    changes.scalar(&base, &new, "location", "set-location");
    for versioned in [&SCHEMAS, &SPECS, &ORDERS] {
        changes.versioned(&base, &new, versioned)?;
    }
    changes.properties(&base, &new);
    changes.snapshots(&base, &new)?;
    changes.refs(&base, &new);
    changes.statistics(&base, &new)?;
    Ok(changes)
}

impl Changes {
    fn scalar(
        &mut self,
        base: &Map<String, Json>,
        new: &Map<String, Json>,
        key: &str,
        action: &str,
    ) {
        if let Some(value) = new.get(key).filter(|value| base.get(key) != Some(value)) {
            let mut update = Map::new();
            update.insert("action".to_string(), action.into());
            update.insert(key.to_string(), value.clone());
            self.updates.push(Json::Object(update));
        }
    }

    fn versioned(
        &mut self,
        base: &Map<String, Json>,
        new: &Map<String, Json>,
        what: &Versioned,
    ) -> Result<()> {
        let (old, list) = (members(base, what.list), members(new, what.list));
        let added: Vec<&Json> = list.iter().filter(|member| !old.contains(member)).collect();
        let ids = |list: &[Json]| -> Vec<Json> {
            list.iter()
                .filter_map(|m| m.get(what.id).cloned())
                .collect()
        };
        let kept = old.iter().all(|member| list.contains(member));
        let known = ids(old);
        if !kept
            || added
                .iter()
                .any(|m| m.get(what.id).is_none_or(|id| known.contains(id)))
        {
            return Err(cannot_send(what.list));
        }
        for member in &added {
            let mut update = Map::new();
            update.insert("action".to_string(), what.add.into());
            update.insert(what.member.to_string(), (*member).clone());
            if what.list == SCHEMAS.list {
                let last = new.get("last-column-id").cloned().unwrap_or_default();
                update.insert("last-column-id".to_string(), last);
            }
            self.updates.push(Json::Object(update));
        }
        if !added.is_empty()
            && let Some((key, require, member)) = what.last
            && let Some(last) = base.get(key)
        {
            self.requirements
                .push(json!({"type": require, member: last}));
        }
        let (before, current) = (base.get(what.current), new.get(what.current));
        if before != current
            && let Some(current) = current
        {
            let last_added = added.last().and_then(|member| member.get(what.id));
            let id = match last_added == Some(current) {
                true => LAST_ADDED.into(),
                false => current.clone(),
            };
            self.updates
                .push(json!({"action": what.set, what.set_id: id}));
            if let Some(before) = before {
                self.requirements
                    .push(json!({"type": what.require, what.current: before}));
            }
        }
        Ok(())
    }

    fn properties(&mut self, base: &Map<String, Json>, new: &Map<String, Json>) {
        let (old, properties) = (object(base, "properties"), object(new, "properties"));
        let set: Map<String, Json> = properties
            .iter()
            .filter(|(key, value)| old.get(*key) != Some(value))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let removed: Vec<&String> = old
            .keys()
            .filter(|key| !properties.contains_key(*key))
            .collect();
        if !set.is_empty() {
            self.updates
                .push(json!({"action": "set-properties", "updates": set}));
        }
        if !removed.is_empty() {
            self.updates
                .push(json!({"action": "remove-properties", "removals": removed}));
        }
    }

    fn snapshots(&mut self, base: &Map<String, Json>, new: &Map<String, Json>) -> Result<()> {
        let (old, list) = (members(base, "snapshots"), members(new, "snapshots"));
        let id = |snapshot: &Json| snapshot.get("snapshot-id").and_then(Json::as_i64);
        let before: Vec<Option<i64>> = old.iter().map(id).collect();
        let after: Vec<Option<i64>> = list.iter().map(id).collect();
        for snapshot in list
            .iter()
            .filter(|snapshot| !before.contains(&id(snapshot)))
        {
            self.snapshots.extend(id(snapshot));
            self.updates
                .push(json!({"action": "add-snapshot", "snapshot": snapshot}));
        }
        if old
            .iter()
            .any(|snapshot| after.contains(&id(snapshot)) && !list.contains(snapshot))
        {
            return Err(cannot_send("snapshots"));
        }
        let removed: Vec<i64> = before
            .into_iter()
            .filter(|id| !after.contains(id))
            .flatten()
            .collect();
        if !removed.is_empty() {
            self.updates
                .push(json!({"action": "remove-snapshots", "snapshot-ids": removed}));
        }
        Ok(())
    }

    fn refs(&mut self, base: &Map<String, Json>, new: &Map<String, Json>) {
        let (old, refs) = (object(base, "refs"), object(new, "refs"));
        for (name, reference) in &refs {
            let before = old.get(name);
            if before == Some(reference) {
                continue;
            }
            let mut update = reference.as_object().cloned().unwrap_or_default();
            update.insert("action".to_string(), "set-snapshot-ref".into());
            update.insert("ref-name".to_string(), name.as_str().into());
            self.updates.push(Json::Object(update));
            self.require_ref(name, before);
        }
        for (name, before) in old.iter().filter(|(name, _)| !refs.contains_key(*name)) {
            self.updates
                .push(json!({"action": "remove-snapshot-ref", "ref-name": name}));
            self.require_ref(name, Some(before));
        }
    }

    fn require_ref(&mut self, name: &str, before: Option<&Json>) {
        let id = before.and_then(|reference| reference.get("snapshot-id"));
        self.requirements
            .push(json!({"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": id}));
    }

    fn statistics(&mut self, base: &Map<String, Json>, new: &Map<String, Json>) -> Result<()> {
        let (old, list) = (members(base, "statistics"), members(new, "statistics"));
        let id = |file: &Json| file.get("snapshot-id").cloned();
        for file in list.iter().filter(|file| !old.contains(file)) {
            let id = id(file).ok_or_else(|| cannot_send("statistics"))?;
            self.updates
                .push(json!({"action": "set-statistics", "snapshot-id": id, "statistics": file}));
        }
        let after: Vec<Option<Json>> = list.iter().map(id).collect();
        for id in old
            .iter()
            .map(id)
            .filter(|id| !after.contains(id))
            .flatten()
        {
            self.updates
                .push(json!({"action": "remove-statistics", "snapshot-id": id}));
        }
        Ok(())
    }
}

fn document(bytes: &[u8]) -> Result<Map<String, Json>> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::corrupt(format!("the table's metadata is damaged: {error}")))
}

fn members<'d>(document: &'d Map<String, Json>, key: &str) -> &'d [Json] {
    document
        .get(key)
        .and_then(Json::as_array)
        .map_or(&[], Vec::as_slice)
}

fn object(document: &Map<String, Json>, key: &str) -> Map<String, Json> {
    document
        .get(key)
        .and_then(Json::as_object)
        .cloned()
        .unwrap_or_default()
}

fn cannot_send(key: &str) -> Error {
    Error::unsupported(format!(
        "a REST catalog cannot be told this change of {key:?} in the table's metadata"
    ))
}
