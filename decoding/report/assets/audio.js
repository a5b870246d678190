// Recordings: a player for an opened segment; nothing is loaded before it is played.

/** The address of the recording of a segment, null if there is none. */
function recordingOf({ audio }, id) {
  if (!audio || (audio.names && !Object.hasOwn(audio.names, id))) return null;
  const name = audio.names ? audio.names[id] : encodeURIComponent(id);
  return audio.template.replaceAll("{id}", () => name);
}

function audioPlayer(address) {
  const trouble = h("p", { class: "hint", role: "status" });
  const player = h("audio", { controls: true, preload: "none", src: address, "aria-label": "Recording",
    error: () => { trouble.textContent = `${address} could not be played.`; } });
  return { player, element: h("div", { class: "audio" }, player, trouble) };
}

/** Play from a time on, or stop what is played if there is none. */
function play(player, begin = null) {
  if (begin === null && !player.paused) return player.pause();
  if (begin !== null) player.currentTime = begin;
  return player.play().catch(() => {});
}
