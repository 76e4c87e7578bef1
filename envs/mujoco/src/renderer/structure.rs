use std::marker::PhantomData;
use std::mem::size_of;

/// Memory for a structure of MuJoCo whose size depends on the version. It is zeroed, aligned to 8 bytes, and stays
/// where it is.
pub(super) struct Structure<T> {
    words: Box<[u64]>,
    kind: PhantomData<T>,
}

impl<T> Structure<T> {
    /// Provides memory of this many bytes, and has it initialised.
    ///
    /// # Safety
    ///
    /// `initialize` must be sound for a structure of this size.
    pub(super) unsafe fn new(bytes: usize, initialize: unsafe extern "C-unwind" fn(*mut T)) -> Self {
        let words = vec![0; bytes.div_ceil(size_of::<u64>())].into_boxed_slice();
        let mut structure = Self { words, kind: PhantomData };
        // SAFETY: as the caller promises.
        unsafe { initialize(structure.as_mut_ptr()) };
        structure
    }

    pub(super) fn as_ptr(&self) -> *const T {
        self.words.as_ptr().cast()
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut T {
        self.words.as_mut_ptr().cast()
    }

    /// Writes a field.
    ///
    /// # Safety
    ///
    /// A value of type `V` must be at the offset.
    pub(super) unsafe fn write<V>(&mut self, offset: usize, value: V) {
        // SAFETY: as the caller promises. Fields are aligned for their types.
        unsafe { self.as_mut_ptr().cast::<u8>().add(offset).cast::<V>().write(value) }
    }
}
