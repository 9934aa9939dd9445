// pm2 start ops/pm2/ecosystem.config.cjs, from Rapport's folder, with its variables in the environment.
const { resolve } = require('node:path')

// Named here, as pm2 lets a restart by this file see no changed variable otherwise; what is pm2's own is left out.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(PM2_|pm_|NODE_APP_INSTANCE)/.test(name)),
)

const common = {
  cwd: resolve(__dirname, '../..'),
  // The Node that came with the dependencies, whichever one pm2 itself runs on.
  interpreter: resolve(__dirname, '../../node_modules/.bin/node'),
  // As in packages/core/src/runtime/node-flags.ts.
  interpreter_args: '--heap-growing-percent=50 --max-semi-space-size=4',
  exec_mode: 'fork',
  // A start is over when the program says that it is ready.
  wait_ready: true,
  listen_timeout: 60_000,
  max_memory_restart: '1G',
  exp_backoff_restart_delay: 200,
  // A bad configuration does not get better by trying again.
  stop_exit_codes: [78],
}

const api = (port) => ({
  ...common,
  name: `rapport-api-${port}`,
  script: 'apps/api/src/main.ts',
  env: { ...environment, PORT: port, SHUTDOWN_DELAY_MS: 5_000 },
  // The delay, ten seconds for what is under way, and some to spare.
  kill_timeout: 30_000,
})

const worker = (port) => ({
  ...common,
  name: `rapport-worker-${port}`,
  script: 'apps/worker/src/main.ts',
  env: { ...environment, WORKER_PORT: port },
  // A mail or a delivery in hand takes up to half a minute to end; killed, it would be INTERRUPTED.
  kill_timeout: 60_000,
})

module.exports = { apps: [api(3001), api(3002), worker(3101), worker(3102), worker(3103)] }
