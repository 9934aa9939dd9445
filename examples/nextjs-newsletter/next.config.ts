import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { NextConfig } from 'next'

// `pnpm start` in the root of the repository writes the address and the API key of the local installation to this file.
const localEnvironment = join(import.meta.dirname, '../../.rapport/local.env')
if (existsSync(localEnvironment)) process.loadEnvFile(localEnvironment)

const config: NextConfig = {
  // `next dev` writes no AGENTS.md, and does not look for a newer version of itself.
  agentRules: false,
  experimental: { agentUpgrade: false },
}

export default config
