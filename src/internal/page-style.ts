/** The look of the pages that the library shows by itself, which is that of the service's pages, in light and dark. */
export const pageStyle =
  ':root{color-scheme:light dark}body{margin:0;min-height:100vh;display:grid;place-items:center;background:light-dark(#f4f5f7,#0d1117);color:light-dark(#1b1f24,#e6edf3);font:1rem/1.5 system-ui,sans-serif}main{box-sizing:border-box;width:100%;max-width:26rem;padding:1.75rem 1.5rem;background:light-dark(#fff,#161b22);border:1px solid light-dark(#d0d7de,#3d444d);border-radius:.75rem;overflow-wrap:anywhere}h1{font-size:1.35rem;margin:0 0 1rem}p{margin:0 0 .5rem}a{color:light-dark(#0b5cad,#6cb6ff)}'

/** The source in a content security policy that allows this style alone: its SHA-256. */
export const pageStyleSource = "'sha256-oaE0w9maUfSdFo87cOE76ZzeYzxweYL2K9cU5pR/EVA='"
