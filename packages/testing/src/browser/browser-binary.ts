import { readFile } from 'node:fs/promises'
import { findProgram, unpackDebianPackage, type DebianPackage } from '../processes/debian-package.ts'

const browserPrograms = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** Chromium needs fonts and this configuration to render text. It is used on machines without fontconfig. */
const fontConfiguration = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir prefix="relative">usr/share/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
  <match><edit name="family" mode="append_last"><string>DejaVu Sans</string></edit></match>
</fontconfig>
`

/** Without windows, Chromium needs two thirds of the processor time. */
const chromium: DebianPackage = {
  name: 'chromium-headless-shell',
  program: 'usr/lib/chromium/chromium-headless-shell',
  libraries: ['usr/lib/*-linux-*/pulseaudio'],
  preparation: ['[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$here/fonts.conf"'],
  files: { 'fonts.conf': fontConfiguration },
}

/**
 * Returns the path of Chromium or Chrome: an installed one, or on Debian the package unpacked into node_modules/.cache,
 * which changes nothing else on the machine. Undefined if neither is possible; throws if the download fails.
 */
export async function findBrowser(): Promise<string | undefined> {
  const installed = await findProgram(browserPrograms)
  if (installed) return installed
  // Ubuntu has the tools too, but its package of this name only refers to the snap.
  return (await isDebian()) ? unpackDebianPackage(chromium) : undefined
}

async function isDebian(): Promise<boolean> {
  const system = await readFile('/etc/os-release', 'utf8').catch(() => '')
  return /^ID="?debian"?$/m.test(system)
}
