/** Path of a file of the clone. This folder is as deep as dist/node, where the package has this code. */
export declare const repositoryFile: (path: string) => string;
