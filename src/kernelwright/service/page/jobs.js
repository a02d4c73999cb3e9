"use strict";
// Shows the caller's jobs, and asks again every two seconds. Text of others is only ever set as text.
const EVERY_MS = 2000;
const said = document.getElementById("said");
const table = document.getElementById("jobs");
const signIn = document.getElementById("sign-in");

function headers() {
  const token = sessionStorage.getItem("token");
  return token ? { Authorization: `Bearer ${token}` } : {};
}

function cell(text, className = "") {
  const made = document.createElement("td");
  made.textContent = text;
  made.className = className;
  return made;
}

function result(job) {
  if (job.error) return `${job.error.what}: ${job.error.seen}`;
  if (!job.result) return job.progress;
  const outcome = (job.kind === "search" ? job.result.outcome : job.result.status) || "";
  const about = job.kind === "search" ? job.result.best : job.result;
  const why = (job.result.reasons || []).map((reason) => reason.detail).join("; ");
  return [outcome.replaceAll("_", " "), speedup(about), why].filter(Boolean).join(", ");
}

// The speedup over the library setting that it is smallest over: the strongest one.
function speedup(about) {
  const ratios = Object.entries((about && about.speedup) || {}).sort((a, b) => a[1].median - b[1].median);
  if (!ratios.length) return "";
  const [setting, { median, low, high }] = ratios[0];
  return `${median.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)}) × ${setting}`;
}

async function open(job, name) {
  const answer = await fetch(`/v1/jobs/${job.id}/${name}`, { headers: headers() });
  if (!answer.ok) { said.textContent = (await answer.json()).detail; return; }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = `${job.name}-${name}`;
  link.click();
  URL.revokeObjectURL(link.href);
}

function row(job) {
  const made = document.createElement("tr");
  const texts = [job.name, job.kind, job.state, result(job), job.created_at.slice(0, 19).replace("T", " ")];
  texts.forEach((text) => made.append(cell(text, job.state === "failed" ? "failed" : "")));
  const files = cell("");
  for (const name of job.files) {
    const button = document.createElement("button");
    button.textContent = name;
    button.addEventListener("click", () => open(job, name));
    files.append(button, " ");
  }
  made.append(files);
  return made;
}

async function show() {
  try {
    const answer = await fetch("/v1/jobs", { headers: headers() });
    signIn.hidden = answer.status !== 401;
    table.hidden = !answer.ok;
    if (answer.ok) {
      const jobs = await answer.json();
      table.tBodies[0].replaceChildren(...jobs.map(row));
      said.textContent = jobs.length ? "" : "No jobs yet: POST to /v1/searches or /v1/verdicts.";
    } else {
      said.textContent = (await answer.json()).detail;
    }
  } catch (error) {
    said.textContent = `The server does not answer: ${error.message}`;
  }
  setTimeout(show, EVERY_MS);
}

signIn.addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", document.getElementById("token").value);
});
show();
