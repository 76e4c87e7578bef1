/// Movement of a kernel over an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    /// Pixels between two positions of the kernel.
    pub(super) stride: usize,
    /// Rows and columns of zeros around an image.
    pub(super) padding: usize,
}

/// The sizes of a convolution over a batch of images, all with channels last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    /// Number of images in the batch.
    pub(super) images: usize,
    /// Height of an image in pixels.
    pub(super) height: usize,
    /// Width of an image in pixels.
    pub(super) width: usize,
    /// Channels of an image.
    pub(super) inputs: usize,
    /// Side of the square kernel.
    pub(super) kernel: usize,
    /// Pixels between two positions of the kernel.
    pub(super) stride: usize,
    /// Rows and columns of zeros around an image.
    pub(super) padding: usize,
    /// Channels of the result.
    pub(super) outputs: usize,
}

impl Geometry {
    /// Computes the sizes from an input `[images, height, width, inputs]` and a weight
    /// `[kernel, kernel, inputs, outputs]`.
    ///
    /// # Panics
    /// Panics if the two do not match.
    pub(super) fn new(input: [usize; 4], weight: [usize; 4], window: Window) -> Self {
        let Window { stride, padding } = window;
        let [images, height, width, inputs] = input;
        let [kernel, kernel_width, kernel_inputs, outputs] = weight;
        assert!(
            kernel == kernel_width
                && inputs == kernel_inputs
                && kernel <= height.min(width) + 2 * padding
                && stride > 0,
            "a kernel {weight:?} with stride {stride} and padding {padding} does not match images {input:?}"
        );
        Self { images, height, width, inputs, kernel, stride, padding, outputs }
    }

    /// Returns the rows of an image with its padding.
    pub(super) fn padded_height(self) -> usize {
        self.height + 2 * self.padding
    }

    /// Returns the columns of an image with its padding.
    pub(super) fn padded_width(self) -> usize {
        self.width + 2 * self.padding
    }

    /// Returns the number of positions of the kernel along the height.
    pub(super) fn output_height(self) -> usize {
        (self.padded_height() - self.kernel) / self.stride + 1
    }

    /// Returns the number of positions of the kernel along the width.
    pub(super) fn output_width(self) -> usize {
        (self.padded_width() - self.kernel) / self.stride + 1
    }

    /// Returns the number of positions of the kernel in an image.
    pub(super) fn positions(self) -> usize {
        self.output_height() * self.output_width()
    }

    /// Returns the largest number of kernel positions along an axis that cover the same pixel.
    pub(super) fn taps(self) -> usize {
        self.kernel.div_ceil(self.stride)
    }

    /// Returns the number of positions to add before the first one, so that every pixel is covered by the same number
    /// of positions.
    pub(super) fn border(self) -> usize {
        self.taps() - 1
    }

    /// Returns the number of values under the kernel.
    pub(super) fn patch(self) -> usize {
        self.kernel * self.kernel * self.inputs
    }

    /// Returns the number of values of an image.
    pub(super) fn image(self) -> usize {
        self.height * self.width * self.inputs
    }

    /// Returns the number of values of the result for one image.
    pub(super) fn output(self) -> usize {
        self.positions() * self.outputs
    }

    /// Returns the shape of the result.
    pub(super) fn output_shape(self) -> [usize; 4] {
        [self.images, self.output_height(), self.output_width(), self.outputs]
    }
}
