import { copyDataFile } from '../store/libsql.ts'
import { type OfflineCommand, requireDataFile } from './offline.ts'
import { ArgumentError } from './read-command.ts'

const help = `agent-service backup: copies a data file

  agent-service backup FILE --data SOURCE

The service may run on SOURCE. The copy has the state of one moment. FILE must not exist. It is created for its owner only,
because it holds the keys and the hashes of passwords. To restore it, stop the service and start it with --data FILE.

  --data SOURCE          the data file (default: AGENT_SERVICE_DATA)
  -h, --help             print this text

For PostgreSQL, use pg_dump.
Exit codes: 0 copied or help, 1 failed, 2 wrong arguments.
`

export const backup: OfflineCommand = {
  name: 'backup',
  help: () => help,
  flags: { data: { type: 'string' } },
  async run({ words: [copy = '', ...more], location: { dataFile } }) {
    if (copy === '' || more.length > 0) throw new ArgumentError('backup takes the path of one new file')
    if (dataFile === undefined) throw new ArgumentError('backup copies data files; for PostgreSQL use pg_dump')
    requireDataFile(dataFile)
    try {
      copyDataFile(dataFile, copy)
    } catch (error) {
      throw new Error(problemOf((error as { code?: unknown }).code, copy))
    }
    return `copied to ${copy}\n`
  },
}

function problemOf(code: unknown, copy: string): string {
  const file = `the file ${JSON.stringify(copy)}`
  if (code === 'EEXIST') return `${file} exists already; choose another path`
  if (code === 'ENOENT') return `${file} cannot be created: its folder does not exist`
  return `the data could not be copied (${code}); check that there is room and that FILE can be written`
}
