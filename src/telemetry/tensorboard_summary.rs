use protobuf::RepeatedField;
use tensorboard_proto::summary::{Summary, Summary_Value};

/// Returns a summary with one value, which `fill` completes.
pub(super) fn summary(tag: &str, fill: impl FnOnce(&mut Summary_Value)) -> Summary {
    let mut value = Summary_Value::new();
    value.set_tag(tag.to_owned());
    fill(&mut value);
    let mut summary = Summary::new();
    summary.set_value(RepeatedField::from_vec(vec![value]));
    summary
}
