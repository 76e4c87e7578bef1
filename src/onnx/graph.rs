use super::messages::{self, Attribute, Dimension, Extent, Node, Shape, Tensor, TensorType, Type, ValueInfo};

/// The name of the first axis of all inputs and outputs.
const ROWS: &str = "rows";

/// The type of the elements of a tensor, with its number in the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    F32 = 1,
    U8 = 2,
    I64 = 7,
    Bool = 9,
    F64 = 11,
}

/// A tensor of a graph: an input, a constant or the result of a node.
#[derive(Clone, Debug)]
pub(super) struct Value(String);

/// A graph under construction. Its nodes are in the order in which they were added. An input or a constant is added
/// once; those with the same name must be equal.
#[derive(Debug, Default)]
pub(super) struct Graph {
    graph: messages::Graph,
}

impl Graph {
    /// Adds an input of `[rows, shape...]`.
    pub(super) fn input(&mut self, name: &str, element: Element, shape: &[usize], about: &str) -> Value {
        if self.graph.input.iter().all(|known| known.name != name) {
            self.graph.input.push(value_info(name, element, shape, about));
        }
        Value(name.to_owned())
    }

    /// Makes a value of `[rows, shape...]` an output.
    pub(super) fn output(
        &mut self,
        value: &Value,
        name: &str,
        element: Element,
        shape: &[usize],
        about: &str,
    ) {
        self.push("Identity", &[value], vec![name.to_owned()], &[]);
        self.graph.output.push(value_info(name, element, shape, about));
    }

    /// Adds a constant.
    pub(super) fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) -> Value {
        self.constant(
            name,
            Element::F32,
            shape,
            values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        )
    }

    /// Adds a constant of double precision.
    pub(super) fn doubles(&mut self, name: &str, shape: &[usize], values: &[f64]) -> Value {
        self.constant(
            name,
            Element::F64,
            shape,
            values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        )
    }

    /// Adds a constant of truth values.
    pub(super) fn bools(&mut self, name: &str, shape: &[usize], values: &[bool]) -> Value {
        self.constant(name, Element::Bool, shape, values.iter().map(|&value| u8::from(value)).collect())
    }

    /// Adds a constant of indices.
    pub(super) fn indices(&mut self, name: &str, shape: &[usize], values: &[usize]) -> Value {
        let values: Vec<i64> = values.iter().map(|&value| value as i64).collect();
        self.integers(name, shape, &values)
    }

    fn integers(&mut self, name: &str, shape: &[usize], values: &[i64]) -> Value {
        self.constant(
            name,
            Element::I64,
            shape,
            values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        )
    }

    fn constant(&mut self, name: &str, element: Element, shape: &[usize], raw_data: Vec<u8>) -> Value {
        if self.graph.initializer.iter().all(|known| known.name != name) {
            let dims = shape.iter().map(|&extent| extent as i64).collect();
            let data_type = element as i32;
            self.graph.initializer.push(Tensor { dims, data_type, name: name.to_owned(), raw_data });
        }
        Value(name.to_owned())
    }

    /// Adds a node with one result.
    pub(super) fn apply(&mut self, operator: &str, inputs: &[&Value], attributes: &[Attribute]) -> Value {
        let name = self.fresh(operator);
        self.push(operator, inputs, vec![name.clone()], attributes);
        Value(name)
    }

    /// Splits `[rows, count * size]` into `count` parts.
    pub(super) fn split<const COUNT: usize>(&mut self, value: &Value) -> [Value; COUNT] {
        let name = self.fresh("Split");
        let names: [String; COUNT] = std::array::from_fn(|part| format!("{name}.{part}"));
        self.push("Split", &[value], names.to_vec(), &[Attribute::of_int("axis", 1)]);
        names.map(Value)
    }

    /// Changes the shape of a value; an extent of -1 is that of the other elements.
    pub(super) fn reshape(&mut self, value: &Value, shape: &[i64]) -> Value {
        let name = format!("{}.shape", self.fresh("Reshape"));
        let shape = self.integers(&name, &[shape.len()], shape);
        self.apply("Reshape", &[value, &shape], &[])
    }

    /// Converts the elements of a value.
    pub(super) fn cast(&mut self, value: &Value, element: Element) -> Value {
        self.apply("Cast", &[value], &[Attribute::of_int("to", element as i64)])
    }

    /// Joins values along the second axis.
    pub(super) fn concat(&mut self, values: &[Value]) -> Value {
        match values {
            [only] => only.clone(),
            values => {
                let values: Vec<&Value> = values.iter().collect();
                self.apply("Concat", &values, &[Attribute::of_int("axis", 1)])
            }
        }
    }

    /// Returns the number of rows of a value as a shape, `[1]`.
    pub(super) fn rows(&mut self, value: &Value) -> Value {
        self.apply("Shape", &[value], &[Attribute::of_int("start", 0), Attribute::of_int("end", 1)])
    }

    /// Returns the message with all nodes.
    pub(super) fn into_message(self, name: &str) -> messages::Graph {
        messages::Graph { name: name.to_owned(), ..self.graph }
    }

    fn fresh(&self, operator: &str) -> String {
        format!("{operator}.{}", self.graph.node.len())
    }

    fn push(&mut self, operator: &str, inputs: &[&Value], output: Vec<String>, attributes: &[Attribute]) {
        self.graph.node.push(Node {
            input: inputs.iter().map(|input| input.0.clone()).collect(),
            name: output[0].clone(),
            output,
            op_type: operator.to_owned(),
            attribute: attributes.to_vec(),
        });
    }
}

fn value_info(name: &str, element: Element, shape: &[usize], about: &str) -> ValueInfo {
    let fixed = shape.iter().map(|&extent| Extent::Fixed(extent as i64));
    let extents = [Extent::Named(ROWS.to_owned())].into_iter().chain(fixed);
    let shape = Shape { dim: extents.map(|extent| Dimension { extent: Some(extent) }).collect() };
    let tensor_type = TensorType { elem_type: element as i32, shape: Some(shape) };
    ValueInfo {
        name: name.to_owned(),
        value_type: Some(Type { tensor_type: Some(tensor_type) }),
        doc_string: about.to_owned(),
    }
}
