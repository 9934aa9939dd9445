// Run "pm2 start ops/pm2/ecosystem.config.cjs" in the folder of Rapport, with its environment variables set.
const { resolve } = require('node:path')

// The same as in bin/rapport.
const compileCache = resolve(__dirname, '../../node_modules/.cache/node')

// Listed explicitly, as otherwise a restart with this file ignores changed variables. Variables of pm2 are left out.
const environment = Object.fromEntries(
  Object.entries({ NODE_COMPILE_CACHE: compileCache, ...process.env }).filter(
    ([name]) => !/^(PM2_|pm_|NODE_APP_INSTANCE)/.test(name),
  ),
)

const common = {
  cwd: resolve(__dirname, '../..'),
  // The Node installed with the dependencies; pm2 itself may run on another one.
  interpreter: resolve(__dirname, '../../node_modules/.bin/node'),
  // The same as in packages/core/src/runtime/node-flags.ts.
  interpreter_args: '--heap-growing-percent=50 --max-semi-space-size=4',
  exec_mode: 'fork',
  // The program reports to pm2 when it is ready.
  wait_ready: true,
  listen_timeout: 60_000,
  max_memory_restart: '1G',
  exp_backoff_restart_delay: 200,
  // 78: the configuration is invalid, so a restart cannot help.
  stop_exit_codes: [78],
}

const api = (port) => ({
  ...common,
  name: `rapport-api-${port}`,
  script: 'apps/api/src/main.ts',
  env: { ...environment, PORT: port, SHUTDOWN_DELAY_MS: environment.SHUTDOWN_DELAY_MS || 5_000 },
  // The shutdown delay, ten seconds for running requests, and a reserve.
  kill_timeout: 60_000,
})

const worker = (port) => ({
  ...common,
  name: `rapport-worker-${port}`,
  script: 'apps/worker/src/main.ts',
  env: { ...environment, WORKER_PORT: port },
  // An email or a delivery in flight takes up to 30 seconds. If the worker is killed before, it becomes INTERRUPTED.
  kill_timeout: 60_000,
})

module.exports = { apps: [api(3001), api(3002), worker(3101), worker(3102), worker(3103)] }
