/** Static export, below a path. */
module.exports = { output: 'export', basePath: '/next', trailingSlash: true };
