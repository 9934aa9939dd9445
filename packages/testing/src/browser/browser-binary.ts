import { readFile } from 'node:fs/promises'
import { findProgram, unpackDebianPackage, type DebianPackage } from '../processes/debian-package.ts'

const installedAs = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** A machine that lacks fonts lacks their configuration too: without both a page has boxes for letters, or none. */
const fontConfiguration = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir prefix="relative">usr/share/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
  <match><edit name="family" mode="append_last"><string>DejaVu Sans</string></edit></match>
</fontconfig>
`

const chromium: DebianPackage = {
  name: 'chromium',
  program: 'usr/lib/chromium/chromium',
  libraries: ['usr/lib/*-linux-*/pulseaudio'],
  preparation: ['[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$here/fonts.conf"'],
  files: { 'fonts.conf': fontConfiguration },
}

/**
 * A Chromium or Chrome: the installed one, else on Debian its package unpacked into node_modules/.cache, which leaves
 * the machine as it is. Undefined where there is neither; throws when the package cannot be had.
 */
export async function findBrowser(): Promise<string | undefined> {
  const installed = await findProgram(installedAs)
  if (installed) return installed
  // Ubuntu has the tools too, but under this name no more than an advice to install the snap.
  return (await isDebian()) ? unpackDebianPackage(chromium) : undefined
}

async function isDebian(): Promise<boolean> {
  const system = await readFile('/etc/os-release', 'utf8').catch(() => '')
  return /^ID="?debian"?$/m.test(system)
}
