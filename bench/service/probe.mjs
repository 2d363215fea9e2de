// Loaded into every measured server by --import. Plain JavaScript, because a loader would be measured along with it.
// Tells the parent the processor time of this process, and does not keep it alive.

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.(user + system)
})
// A bench that ends early leaves no server behind.
process.on('disconnect', () => process.exit())
process.channel?.unref()
