/** The reverse proxies of `ops`, in front of APIs on other ports and with a certificate for 127.0.0.1. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { readRepositoryText } from '../conventions/repository-texts.ts'
import { findProgram, unpackDebianPackage } from '../processes/debian-package.ts'
import { startCommand } from '../processes/processes.ts'
import { waitUntil } from '../wait.ts'
import { goodCertificate, testKey } from './certificates.ts'

export type ReverseProxyName = 'nginx' | 'caddy'

export interface ReverseProxy {
  readonly url: string
  /** Is redirected to `url`. */
  readonly plainUrl: string
  readAccessLog(): Promise<string>
  /** The certificate of the authority that Caddy makes for the hosts of workspaces. */
  readAuthority(): Promise<string>
  close(): Promise<void>
}

const programs = {
  nginx: { name: 'nginx', program: 'usr/sbin/nginx', versionParameter: '-v' },
  caddy: { name: 'caddy', program: 'usr/bin/caddy', versionParameter: 'version' },
} as const

/** Returns the path of the program: installed, or unpacked from its Debian package. Undefined if neither is possible. */
export async function findReverseProxy(name: ReverseProxyName): Promise<string | undefined> {
  const { program, versionParameter } = programs[name]
  const found =
    (await findProgram([name, `/${program}`], versionParameter)) ?? (await unpackDebianPackage(programs[name]))
  if (!found)
    console.log(`${name} tests are skipped: it is not on the PATH, and Debian packages cannot be unpacked here.`)
  return found
}

interface Ports {
  /** Where Caddy asks for permission of a certificate. */
  ask: number
  plain: number
  secure: number
}

/** Starts the proxy with its configuration of `ops`, in which only addresses and paths are replaced. */
export async function startReverseProxy(
  name: ReverseProxyName,
  { program, apiPorts }: { program: string; apiPorts: readonly [number, number] },
): Promise<ReverseProxy> {
  const folder = await mkdtemp(join(tmpdir(), `rapport-${name}-`))
  await writeFile(join(folder, 'fullchain.pem'), goodCertificate)
  await writeFile(join(folder, 'privkey.pem'), testKey)
  const ports = { ask: await findFreePort(), plain: await findFreePort(), secure: await findFreePort() }
  const original = readRepositoryText(name === 'nginx' ? 'ops/nginx/rapport.conf' : 'ops/caddy/Caddyfile')
  const withApis = original.replace('127.0.0.1:3001', `127.0.0.1:${apiPorts[0]}`)
  const text = withApis.replace('127.0.0.1:3002', `127.0.0.1:${apiPorts[1]}`)
  const { settings, parameters } =
    name === 'nginx' ? forNginx(text, { folder, ports }) : forCaddy(text, { folder, ports })
  await writeFile(join(folder, 'settings'), settings)
  await mkdir(join(folder, 'temporary'))
  const started = await startCommand({ command: program, parameters, env: { HOME: folder } })
  const isReady = async () => {
    if (!started.isRunning) throw new Error(`${name} exited: ${started.stderr()}`)
    return isListening(ports.secure)
  }
  await waitUntil(isReady, { describe: `${name} listens`, timeoutMs: 20_000 })
  return {
    url: `https://127.0.0.1:${ports.secure}`,
    plainUrl: `http://127.0.0.1:${ports.plain}`,
    readAccessLog: () => readFile(join(folder, 'rapport.log'), 'utf8'),
    readAuthority: () => readFile(join(folder, '.local/share/caddy/pki/authorities/local/root.crt'), 'utf8'),
    async close() {
      started.kill('SIGTERM')
      await started.exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (result: boolean) => {
      socket.destroy()
      resolve(result)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}

function forNginx(text: string, { folder, ports }: { folder: string; ports: Ports }) {
  const site = text
    .replace('listen 80;', `listen 127.0.0.1:${ports.plain};`)
    .replace('listen 443 ssl;', `listen 127.0.0.1:${ports.secure} ssl;`)
    .replaceAll('/etc/letsencrypt/live/crm.example.com', folder)
    .replaceAll('/var/log/nginx', folder)
    .replace('/var/www/html', folder)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${join(folder, 'temporary', kind)};`,
  )
  // As one process, which needs no other user.
  const settings = `daemon off;
master_process off;
pid ${join(folder, 'pid')};
error_log stderr;
events {}
http {
access_log off;
${temporary.join('\n')}
${site}
}
`
  return { settings, parameters: ['-c', join(folder, 'settings')] }
}

function forCaddy(text: string, { folder, ports }: { folder: string; ports: Ports }) {
  const certificate = `tls ${join(folder, 'fullchain.pem')} ${join(folder, 'privkey.pem')}`
  const options = ['admin off', `http_port ${ports.plain}`, `https_port ${ports.secure}`, 'skip_install_trust']
  const settings = text
    .replace('{\n', `{\n\t${options.join('\n\t')}\n`)
    .replace('crm.example.com {', `https://127.0.0.1 {\n\tbind 127.0.0.1\n\t${certificate}`)
    // With the authority of Caddy itself.
    .replace('https:// {\n\ttls {', 'https:// {\n\tbind 127.0.0.1\n\ttls {\n\t\tissuer internal')
    .replaceAll('127.0.0.1:3080', `127.0.0.1:${ports.ask}`)
    .replaceAll('/var/log/caddy', folder)
  return { settings, parameters: ['run', '--adapter', 'caddyfile', '--config', join(folder, 'settings')] }
}
