// Loaded into every measured server by --import. Plain JavaScript, because a loader would be measured along with it.
// Answers the parent's questions about this process, and does not keep it alive.

process.on('message', (question) => {
  if (question === 'cpu') {
    const { user, system } = process.cpuUsage()
    process.send?.(user + system)
  }
  if (question === 'heap') {
    // Twice: what a finaliser lets go is collected by the second.
    globalThis.gc?.()
    globalThis.gc?.()
    process.send?.(process.memoryUsage().heapUsed)
  }
  if (question === 'resident') process.send?.(process.memoryUsage.rss())
})
// A bench that ends early leaves no server behind.
process.on('disconnect', () => process.exit())
process.channel?.unref()
