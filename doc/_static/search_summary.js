// Results are shown with an excerpt, but from a folder: there a browser refuses to read other pages.
DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:";
