/** Sizes of seeds. ASSUMPTIONS.md states the same figures. */
export const seedLimits = {
  /** 32 MiB: the export of 10,000 agents has a third of it. 4 MiB of YAML, which takes a hundred times as long to parse. */
  fileBytes: 33_554_432,
  yamlBytes: 4_194_304,
  /** Values that aliases of a YAML seed may repeat. */
  aliases: 100_000,
  /** Characters of a client secret: 32 random ones cannot be guessed. */
  leastSecretCharacters: 32,
  secretCharacters: 256,
} as const
