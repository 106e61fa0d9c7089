"""Texts as weighted word counts."""

import re
from array import array
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from cascadeforest.data.errors import UserError
from cascadeforest.data.parsed import Parsed
from cascadeforest.data.parsers.archives import read_tar

# What Keras' tokenizer takes for white space. The apostrophe stays: "it's" is one word.
PUNCTUATION = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'
_REVIEW = re.compile(r"aclImdb/(train|test)/(neg|pos)/(\d+)_\d+\.txt")


def imdb(files: Mapping[str, Path], *, archive: str = "aclImdb_v1.tar.gz", n_words: int = 5000) -> Parsed:
    """Parse the Large Movie Review Dataset into tf-idf vectors, as gcForest does from the integer form of Keras.

    Words are what remains when punctuation is turned into blanks, in lower case; the `n_words` that occur most often
    in the training reviews are kept, ties in alphabetical order. A count is multiplied by 1 + ln(n / document
    frequency), from the training reviews and unsmoothed; rows have length 1.

    Parameters
    ----------
    files : mapping of str to Path
        The files by name.
    archive : str
        Name of the tar file: the official one, or one that holds the labelled reviews only. Both give the same rows.
    n_words : int, default=5000
        Number of words, thus of features.

    Returns
    -------
    Parsed
        `X` is a float32 csr matrix: training reviews, then test reviews, the negative ones first, by number.

    Raises
    ------
    UserError
        If the archive holds no reviews of a part, or the training reviews have fewer words than `n_words`.

    Notes
    -----
    The integer form of Keras (``num_words=5000``) ranks words by their count in all of its reviews, and four of its
    5,000 columns are no words (padding, start, any other word, unused), so that 4,996 words are left. Here the
    vocabulary comes from the training reviews alone and all 5,000 columns are words.
    """
    from sklearn.feature_extraction.text import TfidfTransformer

    reviews = _read_reviews(files, archive)
    parts = np.array([part for part, _, _, _ in reviews], dtype=str)
    in_training = parts == "train"
    if in_training.all() or not in_training.any():
        raise UserError(
            f"{archive}: {in_training.sum()} training and {(~in_training).sum()} test reviews were found under "
            "aclImdb/{train,test}/{neg,pos}. It is not this data set; fetch it again."
        )
    tokens, ends, vocabulary = _tokenize([text for _, _, _, text in reviews])
    n_train_tokens = ends[np.flatnonzero(in_training)[-1]]
    counts = np.bincount(tokens[:n_train_tokens], minlength=len(vocabulary))
    if np.count_nonzero(counts) < n_words:
        raise UserError(
            f"{archive}: the training reviews have {np.count_nonzero(counts)} different words, {n_words} are asked "
            "for. Lower `n_words` in the data set file."
        )
    words = np.array(vocabulary)
    kept = np.lexsort((words, -counts))[:n_words]

    column_of = np.full(len(words), -1, dtype=np.int32)
    column_of[kept] = np.arange(n_words, dtype=np.int32)
    columns = column_of[tokens]
    rows = np.repeat(np.arange(len(reviews), dtype=np.int32), np.diff(ends, prepend=0))
    known = columns >= 0
    # The constructor sums repeated entries: the result holds word counts.
    word_counts = csr_matrix(
        (np.ones(np.count_nonzero(known), dtype=np.float32), (rows[known], columns[known])),
        shape=(len(reviews), n_words),
    )
    weigher = TfidfTransformer(smooth_idf=False).fit(word_counts[in_training])
    return Parsed(
        X=weigher.transform(word_counts),
        y=np.array([polarity for _, polarity, _, _ in reviews]),
        feature_names=tuple(words[kept].tolist()),
        given_test=~in_training,
        raw_features=n_words,
    )


def _read_reviews(files: Mapping[str, Path], archive: str) -> list[tuple[str, str, int, str]]:
    """(part, polarity, number, text) of each labelled review; training reviews first."""
    reviews = []
    for name, data in read_tar(files, archive, _REVIEW.fullmatch):
        if match := _REVIEW.fullmatch(name):
            part, polarity, number = match.groups()
            reviews.append((part, polarity, int(number), data.decode("utf-8")))
    reviews.sort(key=lambda review: (review[0] == "test", *review[1:3]))
    return reviews


def _tokenize(texts: list[str]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Word codes of all texts one after the other, where each text ends in them, and the words by code."""
    blanks = str.maketrans(PUNCTUATION, " " * len(PUNCTUATION))
    codes: dict[str, int] = {}
    tokens = array("i")
    ends = []
    for text in texts:
        words = text.lower().translate(blanks).split()
        for word in words:
            tokens.append(codes.setdefault(word, len(codes)))
        ends.append(len(tokens))
    return np.frombuffer(tokens, dtype=np.int32), np.array(ends, dtype=np.int64), list(codes)
