import { ConfigError, inheritedEnvironment } from '@rapport/core/runtime/config.ts'
import { launch, messageOf } from './launch.ts'
import { isSupportedNode, supportedNode } from './node-version.ts'
import { describeWatch } from './watch-sources.ts'
import { welcome } from './welcome.ts'

/** One Ctrl-C may arrive twice, from the terminal and the package manager. Within this time it counts as one. */
const sameSignalMs = 1_000

if (!isSupportedNode(process.versions.node)) {
  console.error(`Rapport needs Node ${supportedNode} or newer; this is ${process.versions.node}.`)
  process.exit(1)
}

// If the terminal is closed, everything must still be stopped.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

console.log('Starting Rapport ...')
const isDevelopment = process.argv.includes('--watch')
const running = launch(inheritedEnvironment(), { log: (line) => console.log(line), isDevelopment })
let askedAt: number | undefined
let finishing: Promise<void> | undefined

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stopOnSignal)
void running.failed.then((line) => finish(1, line))
void running.started.then(
  (started) => console.log([welcome(started), ...(isDevelopment ? [describeWatch()] : [])].join('\n')),
  (error: unknown) => finish(error instanceof ConfigError ? 78 : 1, `Rapport did not start. ${messageOf(error)}`),
)

function stopOnSignal() {
  const now = Date.now()
  if (askedAt !== undefined && now - askedAt < sameSignalMs) return
  if (askedAt !== undefined) {
    running.abandon()
    process.exit(1)
  }
  askedAt = now
  console.log('\nStopping ... (press Ctrl-C again to exit immediately)')
  void finish(0)
}

/** Stops everything and exits. Later calls are ignored, such as for a start that fails because of the stop. */
function finish(code: number, problem?: string): Promise<void> {
  finishing ??= (async () => {
    if (problem) console.error(problem)
    try {
      await running.stop()
    } catch (error) {
      console.error(messageOf(error))
      process.exit(1)
    }
    if (code === 0) console.log('Stopped.')
    process.exit(code)
  })()
  return finishing
}
