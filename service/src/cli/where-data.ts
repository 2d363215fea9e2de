/** A file that was named wins over DATABASE_URL; with neither the data live in memory. */
export function whereData(dataFile: string | undefined): { dataFile?: string; databaseUrl?: string } {
  if (dataFile !== undefined) return { dataFile }
  const databaseUrl = process.env.DATABASE_URL
  return databaseUrl ? { databaseUrl } : {}
}
