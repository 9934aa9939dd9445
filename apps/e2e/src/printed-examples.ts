/** Runs the examples of Markdown pages as printed. */
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startCommand } from '@rapport/testing/processes/processes.ts'

/** The shell commands of a page, in order. */
export function readExamples(markdown: string): string {
  return [...markdown.matchAll(/```sh\n([^]*?)```/g)].map(([, block = '']) => block).join('\n')
}

/**
 * Runs examples in a folder, as a person would who types them into one terminal. Returns what they print, and throws if
 * a command fails. Only the port of the receiver is replaced, as another process may use 4000.
 */
export async function runExamples(
  examples: string,
  { folder, path }: { folder: string; path: string },
): Promise<string> {
  const port = await findFreePort()
  const script = examples
    .replaceAll(/(localhost|127\.0\.0\.1):4000/g, `$1:${port}`)
    .replaceAll('listen(4000', `listen(${port}`)
    .replace(/^(\S*node .*receiver\.\w+) &$/m, (_line, command: string) => startReceiver(command, port))
  const terminal = await startCommand({
    command: 'bash',
    parameters: ['-e', '-o', 'pipefail', '-c', `cd '${folder}'\n${script}`],
    env: { PATH: path, HOME: folder },
  })
  const { code } = await terminal.exited
  if (code !== 0) throw new Error(`The examples failed:\n${terminal.stdout()}${terminal.stderr()}`)
  return terminal.stdout()
}

/** Stops the receiver of the examples before it, whose lines would come between those of the examples after it. */
export const stopReceiver = '[ -z "${RECEIVER-}" ] || { kill "$RECEIVER"; wait "$RECEIVER" || true; unset RECEIVER; }'

/** A script has no person who waits for the receiver to listen, and stops it at the end. */
const startReceiver = (command: string, port: number) => `${command} &
RECEIVER=$!
trap '${stopReceiver}' EXIT
until (exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null; do sleep 0.1; done`
