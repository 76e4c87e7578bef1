"""The ``ale_py`` that processes started by ``multiprocessing`` find after ``install_as_ale_py()`` in their parent."""

from ale_train.as_ale_py import install_as_ale_py

# Replaces this module by the one that has ale-py's names.
install_as_ale_py()
