/** The cluster of ops/citus/test-cluster.sh. Its folder is in CITUS_DIRECTORY. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The URL of the coordinator. */
export const coordinatorUrl = process.env['CITUS_DATABASE_URL']

const script = join(import.meta.dirname, '../../../../ops/citus/test-cluster.sh')
const directory = process.env['CITUS_DIRECTORY'] ?? '/tmp/rapport-citus'

/** Whether the server of this port can be stopped and started. */
export const isControllable = (port: number) => existsSync(join(directory, String(port)))

/** Stops a server as a crash does, or starts it. */
export async function controlNode(command: 'stop-node' | 'start-node', port: number): Promise<void> {
  await promisify(execFile)(script, [command, String(port)])
}
