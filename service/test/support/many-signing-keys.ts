import { getHeapSpaceStatistics } from 'node:v8'
import { newSigningKey } from '../../src/credentials/tokens.ts'

// A process of its own, started with a young generation of 1 MiB. Makes keys, and has the garbage collected at another moment of each:
// the memory that is left when it begins goes from nothing to more than a key takes.

const keys = 200
const mostLeftBytes = 8_000

/** Keeps the last garbage, so that none of it is optimized away. */
const garbage: { last: unknown[] } = { last: [] }

function leftBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
  return young?.space_available_size ?? 0
}

/** Fills the young generation until about this much is left. */
function fill(wantedBytes: number): void {
  const bytesPerElement = 8
  for (let excess = leftBytes() - wantedBytes; excess > 20_000; excess -= 1_064) garbage.last = new Array(125)
  const rest = Math.floor((leftBytes() - wantedBytes) / bytesPerElement)
  if (rest > 0) garbage.last = new Array(rest)
}

for (let made = 0; made < keys; made++) {
  fill((made * mostLeftBytes) / keys)
  newSigningKey()
}
process.stdout.write('made all')
