"""OpenFst's text and binary files, without OpenFst."""
