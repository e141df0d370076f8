/** Static export, below a path of its own. */
module.exports = { output: 'export', basePath: '/next', trailingSlash: true };
