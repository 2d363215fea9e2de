import { type ChildProcess, spawn } from 'node:child_process'

/** Waits for the end of its input, which comes with the end of the process that has the other side of the pipe. */
const script = `cat > /dev/null
kill -9 "$1" $(cat "/proc/$1/task/$1/children" 2> /dev/null)
sleep 1
ipcrm -m "$(sed -n 7p "$2/data/postmaster.pid" | awk '{ print $2 }')" 2> /dev/null
rm -rf "$2"`

/**
 * Kills a process with its children as soon as this process has ended, also by SIGKILL, which no handler of Node sees. Removes its
 * folder, and the shared memory that PostgreSQL leaves. Another process does it. It ends with the process that it watches.
 */
export function endWithParent(child: ChildProcess, folder: string): void {
  const guard = spawn('sh', ['-c', script, 'sh', String(child.pid), folder], { stdio: ['pipe', 'ignore', 'ignore'] })
  guard.unref()
  child.once('exit', () => guard.kill('SIGKILL'))
}
