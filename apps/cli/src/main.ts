import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { findLocalInstance, withLocalAddresses } from '@rapport/core/runtime/local-instance.ts'
import { CommandFailed, exitCodes, usageError } from './command.ts'
import { helpHint, parseCommandLine } from './command-line.ts'
import { commands } from './commands.ts'
import { openTerminal } from './terminal.ts'

/** One Ctrl-C may arrive twice, from the terminal and the package manager. Within this time it counts as one. */
const sameSignalMs = 1_000

const terminal = openTerminal(process.stdout, process.stderr)
// The program that reads the pipe may exit early, as "head" does.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(exitCodes.failed))

const stopping = new AbortController()
let askedAt: number | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    askedAt ??= Date.now()
    if (Date.now() - askedAt > sameSignalMs) process.exit(exitCodes.interrupted)
    stopping.abort()
  })
}

const code = await run(process.argv.slice(2))
await Promise.all([process.stdout, process.stderr].map(flush))
process.exit(code)

/** A pipe takes 64 KiB at once, and an exit loses what waits for its reader. */
function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()))
}

async function run(args: readonly string[]): Promise<number> {
  try {
    const parsed = await parseCommandLine(commands, args)
    if ('print' in parsed) {
      terminal.print(parsed.print)
      return exitCodes.success
    }
    const inherited = inheritedEnvironment()
    const local = await findLocalInstance(inherited)
    const environment = withLocalAddresses(inherited, local)
    const cli = { terminal, environment, local, stopping: stopping.signal }
    return await parsed.command.run(cli, parsed.options).catch((error: unknown) => {
      const isUsageError = error instanceof CommandFailed && error.exitCode === exitCodes.usage
      throw isUsageError ? usageError(`${error.message}\n${helpHint(parsed.command)}`) : error
    })
  } catch (error) {
    if (error === stopping.signal.reason) return exitCodes.interrupted
    // Loaded when it is needed, like the commands: it takes most of a second.
    const { describeError, errorCodeOf, exitCodeOf } = await import('./describe-error.ts')
    const message = describeError(error)
    // Further lines of a text are aligned below the first.
    if (!args.includes('--json'))
      terminal.log(`rapport: ${message.replaceAll('\n', `\n${' '.repeat('rapport: '.length)}`)}`)
    else terminal.log(JSON.stringify({ error: { code: errorCodeOf(error), message } }))
    return exitCodeOf(error)
  }
}
