// What a model is told about the tools of the `files` toolset.

export const PATH_TEXT = "Absolute, or relative to the directory the run started in.";

export const READ_FILE_TEXT = `Reads a text file. Returns its lines numbered ("12\\ttext"), at most 2,000 lines and 100,000 characters; the numbers and the tab are not part of the file. firstLine, lastLine and totalLines tell where you are. Read on with offset, or give a negative offset to read from the end (-100 = the last 100 lines), which is what you want of a log.`;

export const WRITE_FILE_TEXT = `Writes a whole text file, replacing what was there; folders on the way are made. To change a part of a file, use patch_file.`;

export const PATCH_FILE_TEXT = `Changes a part of a text file: \`old\` is replaced by \`new\`. \`old\` must be in the file exactly as written, with its spaces and line breaks (without the line numbers that read_file shows), and only once; take enough lines around it to make it unique, or set replaceAll. Nothing is changed when it does not fit, and the answer says where something like it stands.`;

export const SEARCH_FILES_TEXT = `Searches below a folder. With \`pattern\`, file contents by regular expression: lines as "path:line: text". With \`name\` alone, files by name (a glob such as *.log or src/**/*.ts); with both, contents of the files so named. .git and node_modules are skipped unless you search inside them, and so are binary files.`;

export const LIST_FOLDER_TEXT = "Lists a folder: names in order, folders with a / at their end.";
