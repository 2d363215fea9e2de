/** `--data` wins over DATABASE_URL. Without both, the data stays in memory. */
export function whereData(dataFile: string | undefined): { dataFile?: string; databaseUrl?: string } {
  if (dataFile !== undefined) return { dataFile }
  const databaseUrl = process.env.DATABASE_URL
  return databaseUrl ? { databaseUrl } : {}
}
