/** Worker processes for tests. */
import { testSettings } from '@rapport/testing/fixtures/factories.ts'
import { type StartedProcess, startProcess } from '@rapport/testing/processes/processes.ts'

interface Options {
  /** Default: the worker that waits less than the real one. */
  script?: string
  env: Record<string, string>
}

/** Starts a worker process and waits until it works. `env` extends an environment without a mail server. */
export function startWorkerProcess({ script = 'apps/worker/test/main.ts', env }: Options): Promise<StartedProcess> {
  return startProcess({
    script,
    env: {
      PUBLIC_URL: testSettings.publicUrl,
      SECRET_KEY: 'a secret that is known to every test',
      MAIL_FROM: testSettings.mailFrom,
      SMTP_URL: 'smtp://127.0.0.1:1',
      QUOTA_CONFIRMATIONS: '0',
      ...env,
    },
    readyPattern: /worker ready/,
  })
}
