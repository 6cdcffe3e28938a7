#pragma once

namespace halftone::ipu {

/// The page of a report, but for the report: it is put in the place of @REPORT@, and another one to
/// compare it with, or null, in the place of @OTHER@.
inline constexpr char page[] = R"page(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>IPU report</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root{--ink:#1c2430;--soft:#647084;--line:#dfe4ec;--paper:#fff;--ground:#f3f5f9;--accent:#d6336c;
--compute:#d6336c;--exchange:#f2a516;--sync:#3b82c4;--copy:#9c5bd0;--host:#3a9d5d;--link:#138a92;--streaming:#7a6a2f;--control:#8b93a1}
@media (prefers-color-scheme:dark){:root{--ink:#e6eaf1;--soft:#98a3b5;--line:#333c4b;--paper:#1d2430;--ground:#141922}}
*{box-sizing:border-box}html{scroll-behavior:smooth;scroll-padding-top:56px}
body{margin:0;background:var(--ground);color:var(--ink);font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
header{position:sticky;top:0;z-index:5;display:flex;gap:22px;align-items:center;padding:0 28px;height:48px;background:var(--paper);border-bottom:1px solid var(--line)}
header b{font-size:15px}header b i{color:var(--accent);font-style:normal}header a{color:var(--soft);text-decoration:none}header a:hover{color:var(--accent)}
main{max-width:1320px;margin:0 auto;padding:20px 28px 80px}
section{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:18px 22px;margin:0 0 18px}
h2{margin:0 0 4px;font-size:17px}p.about{margin:0 0 12px;color:var(--soft)}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:12px;margin:10px 0 16px}
.card{border:1px solid var(--line);border-radius:8px;padding:10px 14px}.card span{color:var(--soft);font-size:12px;display:block}
.card output{font-size:18px;white-space:nowrap;font-weight:650;font-variant-numeric:tabular-nums}.card em{display:block;color:var(--soft);font-style:normal;font-size:12px}
.bad output{color:#e03131}.bar{display:flex;height:26px;border-radius:6px;overflow:hidden}.bar div{min-width:1px}
.legend{display:flex;flex-wrap:wrap;gap:6px 18px;margin:8px 0 0;color:var(--soft);font-size:12.5px}.legend i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}
canvas{display:block;width:100%;border-radius:4px;cursor:crosshair}
.split{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:22px}@media(max-width:980px){.split{grid-template-columns:1fr}}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{text-align:left;padding:4px 10px 4px 0;border-bottom:1px solid var(--line);white-space:nowrap;overflow:hidden;text-overflow:ellipsis;max-width:380px}
th{color:var(--soft);font-weight:600;cursor:pointer;font-size:12.5px}td.n,th.n{text-align:right}.scroll{max-height:430px;overflow:auto}
.meter{display:inline-block;height:8px;border-radius:2px;background:var(--accent);vertical-align:middle;margin-right:8px}
details{margin-left:16px}summary{cursor:pointer;font-variant-numeric:tabular-nums}summary span,.leaf span{color:var(--soft);margin-left:10px}.leaf{margin-left:31px}
input[type=search],select{font:inherit;color:inherit;background:var(--ground);border:1px solid var(--line);border-radius:6px;padding:4px 10px}
#tip{position:fixed;pointer-events:none;display:none;background:#10151dee;color:#fff;padding:6px 10px;border-radius:6px;font-size:12.5px;z-index:9;white-space:pre;line-height:1.45}
h3{margin:16px 0 4px;font-size:14px}.legend i.ramp{display:inline-block;width:140px;height:10px;border-radius:2px;margin:0 8px;vertical-align:middle;background:linear-gradient(90deg,rgb(243,246,251),rgb(253,224,160),rgb(246,150,90),rgb(214,51,108),rgb(90,15,70))}
.more{color:#e03131}.less{color:#2f9e44}
.row{display:flex;gap:12px;align-items:center;margin:0 0 10px;flex-wrap:wrap}
</style></head><body>
<header><b>half<i>tone</i> &middot; IPU report</b><a href="#summary">Summary</a><a href="#memory">Memory</a><a href="#liveness">Liveness</a><a href="#trace">Execution</a><a href="#operations">Operations</a><a href="#program">Program</a><a href="#compare">Compare</a></header>
<main>
<section id="summary"><h2 id="model"></h2><p class="about" id="machine"></p><div class="cards" id="cards"></div><div class="bar" id="kinds"></div><div class="legend" id="kindlegend"></div><table id="ipus" style="margin-top:14px;max-width:760px"></table></section>
<section id="memory"><h2>Memory by tile</h2><p class="about">Bytes on each tile when its temporaries are largest. The dashed line is the tile's capacity. Click a tile to see what lies there.</p>
<canvas id="tiles" height="250"></canvas><div class="legend" id="memlegend"></div>
<div class="split" style="margin-top:18px"><div><div class="row"><b>Tiles</b><select id="heat"><option value="memory">memory</option><option value="cycles">compute cycles</option></select></div><canvas id="heatmap" height="330"></canvas><div class="legend"><span>0<i class="ramp"></i><span id="heatmost"></span></span></div></div>
<div><b id="tilename"></b><div class="scroll" style="max-height:350px"><table id="tilevars"></table></div></div></div></section>
<section id="liveness"><h2>Liveness</h2><p class="about">Bytes of what is not always live, step by step, above those that always are. Click a step for its variables.</p>
<canvas id="live" height="230"></canvas><div class="row" style="margin-top:12px"><b id="stepname"></b><select id="liveness-of"><option value="">not always live</option><option value="always">always live</option></select></div><div class="scroll" style="max-height:300px"><table id="stepvars"></table></div></section>
<section id="trace"><h2>Execution</h2><p class="about">One run in cycles: operations above, bulk-synchronous phases below. Wheel zooms, dragging moves, a double click shows all, a click the step's variables above.</p><canvas id="bsp" height="200"></canvas><div class="legend" id="bsplegend"></div></section>
<section id="operations"><h2>Operations</h2><div class="row"><input type="search" id="filter" placeholder="name or type"><select id="group"><option value="">each</option><option value="layer">by layer</option><option value="type">by operator</option><option value="vertex">by vertex</option></select><span id="opcount" style="color:var(--soft)"></span></div><div class="scroll"><table id="ops"></table></div></section>
<section id="program"><h2>Program tree</h2><p class="about">Cycles of a run, loops counted as often as they go round; shares are of the time of all IPUs.</p><div id="tree"></div></section>
<section id="compare"><h2>Compare</h2><p class="about">Another report beside this one: its report.json or report.html.</p><div class="row"><input type="file" id="other" accept=".json,.html"><span id="othername" style="color:var(--soft)"></span></div>
<div id="compared" hidden><table id="diff"></table><div class="split"><div><h3>Memory by tile</h3><canvas id="difftiles" height="190"></canvas></div><div><h3>Not always live, over the program</h3><canvas id="difflive" height="190"></canvas></div></div><div class="legend" id="difflegend"></div><h3>Operations that differ most</h3><table id="diffops"></table></div></section>
</main><div id="tip"></div>
<script type="application/json" id="report">@REPORT@</script>
<script type="application/json" id="beside">@OTHER@</script>
<script>
"use strict";
addEventListener("error",e=>{document.body.dataset.error=e.message+" at "+e.lineno});
const R=JSON.parse(document.getElementById("report").textContent),$=id=>document.getElementById(id);
const kinds=["OnTileExecute","DoExchange","Sync","OnTileCopy","StreamCopy","GlobalExchange","RemoteCopy","Control"];
const kindName={OnTileExecute:"compute",DoExchange:"exchange",Sync:"sync",OnTileCopy:"copy",StreamCopy:"host",GlobalExchange:"link",RemoteCopy:"streaming",Control:"control"};
const css=n=>getComputedStyle(document.documentElement).getPropertyValue("--"+n).trim();
const kindColor=k=>css(kindName[k]);
const int=n=>Math.round(n).toLocaleString("en-US");
const bytes=n=>{const u=["B","KiB","MiB","GiB","TiB"];let i=0;while(n>=1024&&i<4){n/=1024;i++}return (i?n.toFixed(n<10?2:1):n)+" "+u[i]};
const pct=(a,b)=>b?(100*a/b).toFixed(1)+" %":"0 %";
const esc=s=>String(s).replace(/[&<>"]/g,c=>({"&":"&amp;","<":"&lt;",">":"&gt;",'"':"&quot;"}[c]));
const S=R.steps,V=R.variables,M=R.memory,T=R.target,n=S.kind.length,E=R.execution,tiles=M.by_tile.length;
const total=i=>S.cycles[i]*S.repeats[i];
const tip=$("tip"),say=(e,t)=>{if(!t){tip.style.display="none";return}tip.textContent=t;tip.style.display="block";
 tip.style.left=Math.min(e.clientX+14,innerWidth-tip.offsetWidth-10)+"px";tip.style.top=Math.min(e.clientY+14,innerHeight-tip.offsetHeight-10)+"px"};
function paper(c){const r=devicePixelRatio||1,w=c.clientWidth,h=+c.getAttribute("height");if(!c.dataset.h){c.dataset.h=h}const H=+c.dataset.h;
 c.width=w*r;c.height=H*r;c.style.height=H+"px";const g=c.getContext("2d");g.setTransform(r,0,0,r,0,0);g.clearRect(0,0,w,H);g.font="11px system-ui,DejaVu Sans,sans-serif";return [g,w,H]}
function axis(g,w,h,max,left,text){g.fillStyle=css("soft");g.strokeStyle=css("line");g.lineWidth=1;g.textAlign="right";
 for(let i=0;i<=4;i++){const y=h-22-(h-34)*i/4;g.beginPath();g.moveTo(left,y+.5);g.lineTo(w,y+.5);g.stroke();g.fillText(text(max*i/4),left-8,y+4)}g.textAlign="left"}
// summary
$("model").textContent=R.model||"model";
$("machine").textContent=T.name+" · "+T.ipus+(T.ipus>1?" IPUs":" IPU")+" · "+int(T.tiles_per_ipu)+" tiles of "+bytes(T.bytes_per_tile)+" · "+(T.clock_hz/1e6).toFixed(0)+" MHz";
document.title=(R.model||"model")+" on "+T.name;
const card=(id,label,value,more,bad)=>`<div class="card${bad?" bad":""}"><span>${label}</span><output id="${id}">${value}</output><em>${more}</em></div>`;
$("cards").innerHTML=card("cycles","cycles of a run",int(E.cycles),E.microseconds.toFixed(1)+" µs")+
 card("rate","runs a second",int(1e6/E.microseconds),"without other host work")+
 card("fullest","fullest tile",pct(M.fullest_tile_bytes,M.capacity),"tile "+M.fullest_tile+", "+bytes(M.fullest_tile_bytes),M.fullest_tile_bytes>M.capacity)+
 card("allbytes","all tiles",bytes(M.bytes),pct(M.bytes,M.capacity*tiles)+" of the machine")+
 card("full","tiles too full",int(M.tiles_out_of_memory),M.fits?"it fits":"it does not fit",!M.fits)+
 card("flops","TFLOP/s",(E.flops/E.microseconds/1e6).toFixed(2),(100*E.share_of_peak).toFixed(1)+" % of the half peak")+
 card("busy","tile balance",pct(E.busy_compute_cycles*T.ipus,E.by_kind.OnTileExecute),"mean of slowest, computing")+
 card("count","program steps",int(n),int(R.operations.length)+" operations");
$("kinds").innerHTML=kinds.filter(k=>E.by_kind[k]).map(k=>`<div title="${k} ${int(E.by_kind[k])} cycles" style="flex:${E.by_kind[k]} 0 0;background:${kindColor(k)}"></div>`).join("");
$("kindlegend").innerHTML=kinds.filter(k=>E.by_kind[k]).map(k=>`<span><i style="background:${kindColor(k)}"></i>${kindName[k]} ${int(E.by_kind[k])} (${pct(E.by_kind[k],E.cycles*T.ipus)})</span>`).join("");
if(T.ipus>1){const cycles=E.by_ipu||[],most=Array(T.ipus).fill(0),sum=Array(T.ipus).fill(0);
 M.by_tile.forEach((b,t)=>{const p=Math.floor(t/T.tiles_per_ipu);sum[p]+=b;most[p]=Math.max(most[p],b)});
 $("ipus").innerHTML="<tr><th>IPU<th class=n>cycles<th class=n>of the run<th class=n>waits<th class=n>idle<th class=n>memory<th class=n>of its tiles<th class=n>fullest tile</tr>"+cycles.map((c,p)=>`<tr><td>${p}<td class=n>${int(c.busy)}<td class=n>${pct(c.busy,E.cycles)}<td class=n>${pct(c.waiting,E.cycles)}<td class=n>${pct(c.idle,E.cycles)}<td class=n>${bytes(sum[p])}<td class=n>${pct(sum[p],M.capacity*T.tiles_per_ipu)}<td class=n>${bytes(most[p])}</tr>`).join("")}
// memory
const cats=Object.keys(M.by_tile_and_category),palette=["#2f6fb0","#63a4dc","#a9b3c1","#7e6bc4","#b39ddb","#8d99ae","#f2a516","#3a9d5d","#138a92","#d6336c"];
let chosen=M.fullest_tile;
const sumOf=a=>a.reduce((x,y)=>x+y,0);
$("memlegend").innerHTML=cats.map((c,i)=>`<span><i style="background:${palette[i]}"></i>${c} ${bytes(sumOf(M.by_tile_and_category[c]))}</span>`).join("");
function drawTiles(){const [g,w,h]=paper($("tiles")),L=64,max=Math.max(M.capacity,M.fullest_tile_bytes)*1.06,W=w-L,top=12,bot=h-22;
 axis(g,w,h,max,L,v=>(v/1024).toFixed(0)+" KiB");
 const cols=Math.min(tiles,Math.floor(W));for(let x=0;x<cols;x++){const a=Math.floor(x*tiles/cols),b=Math.max(a+1,Math.floor((x+1)*tiles/cols));let pick=a;for(let t=a;t<b;t++)if(M.by_tile[t]>M.by_tile[pick])pick=t;
  let y=bot;cats.forEach((c,i)=>{const v=M.by_tile_and_category[c][pick]*(bot-top)/max;g.fillStyle=palette[i];g.fillRect(L+x*W/cols,y-v,Math.max(W/cols,1),v);y-=v})}
 const y=bot-M.capacity*(bot-top)/max;g.strokeStyle="#e03131";g.lineWidth=1.5;g.setLineDash([6,4]);g.beginPath();g.moveTo(L,y);g.lineTo(w,y);g.stroke();g.setLineDash([]);g.fillStyle="#e03131";g.fillText("capacity "+bytes(M.capacity),L+6,y-5);
 g.fillStyle=css("ink");const cx=L+(chosen+.5)*W/tiles;g.beginPath();g.moveTo(cx,bot+2);g.lineTo(cx-5,bot+10);g.lineTo(cx+5,bot+10);g.fill();
 g.fillStyle=css("soft");for(let i=0;i<=8;i++){const t=Math.min(tiles-1,Math.round(i*tiles/8));g.textAlign=i==8?"right":i?"center":"left";g.fillText("tile "+t,L+t*W/tiles,h-2)}g.textAlign="left"}
const tileAt=(e,c,L)=>{const r=c.getBoundingClientRect();return Math.max(0,Math.min(tiles-1,Math.floor((e.clientX-r.left-L)*tiles/(r.width-L))))};
const tileText=t=>"tile "+t+"  "+bytes(M.by_tile[t])+"  ("+pct(M.by_tile[t],M.capacity)+")\n"+cats.filter(c=>M.by_tile_and_category[c][t]).map(c=>c+"  "+bytes(M.by_tile_and_category[c][t])).join("\n")+"\ncomputes "+int(R.compute_cycles_by_tile[t])+" cycles";
$("tiles").onmousemove=e=>say(e,tileText(tileAt(e,$("tiles"),64)));$("tiles").onmouseleave=()=>say();$("tiles").onclick=e=>choose(tileAt(e,$("tiles"),64));
function heat(v){const s=[[243,246,251],[253,224,160],[246,150,90],[214,51,108],[90,15,70]],x=Math.max(0,Math.min(.9999,v))*4,i=Math.floor(x),f=x-i;return "rgb("+s[i].map((c,k)=>Math.round(c+(s[i+1][k]-c)*f)).join(",")+")"}
let gridCols=1,cell=1;
function drawHeat(){const c=$("heatmap"),w=c.clientWidth,h0=330;gridCols=Math.max(8,Math.ceil(Math.sqrt(tiles*w/h0)));cell=w/gridCols;c.dataset.h=Math.ceil(Math.ceil(tiles/gridCols)*cell)+2;const [g]=paper(c);
 const cyc=$("heat").value=="cycles",d=cyc?R.compute_cycles_by_tile:M.by_tile,max=cyc?Math.max(1,...d):Math.max(M.capacity,M.fullest_tile_bytes);$("heatmost").textContent=cyc?int(max)+" cycles":bytes(max);
 for(let t=0;t<tiles;t++){g.fillStyle=!cyc&&d[t]>M.capacity?"#e03131":heat(d[t]/max);g.fillRect((t%gridCols)*cell,Math.floor(t/gridCols)*cell,cell-1,cell-1)}
 g.strokeStyle=css("ink");g.lineWidth=2;g.strokeRect((chosen%gridCols)*cell,Math.floor(chosen/gridCols)*cell,cell-1,cell-1)}
const cellAt=e=>{const r=$("heatmap").getBoundingClientRect(),t=Math.floor((e.clientY-r.top)/cell)*gridCols+Math.floor((e.clientX-r.left)/cell);return t>=0&&t<tiles?t:-1};
$("heatmap").onmousemove=e=>{const t=cellAt(e);say(e,t<0?"":tileText(t))};$("heatmap").onmouseleave=()=>say();$("heatmap").onclick=e=>{const t=cellAt(e);if(t>=0)choose(t)};$("heat").onchange=drawHeat;
const onTile=(v,t)=>{const P=T.tiles_per_ipu;if(V.ipu[v]!=Math.floor(t/P)||!V.tiles[v])return 0;return ((t%P)-V.first_tile[v]+P)%P<V.tiles[v]?V.largest_on_tile[v]:0};
const where=v=>V.always_live[v]?"always":"steps "+V.first_step[v]+" – "+V.last_step[v];
function choose(t){chosen=t;drawTiles();drawHeat();const s=M.peak_step_by_tile[t],rows=[];for(let v=0;v<V.name.length;v++){const b=onTile(v,t);if(b&&(V.always_live[v]||V.first_step[v]<=s&&s<=V.last_step[v]))rows.push([b,v])}
 rows.sort((a,b)=>b[0]-a[0]);$("tilename").textContent="Tile "+t+" at step "+s+": "+bytes(M.by_tile[t]);
 $("tilevars").innerHTML="<tr><th>variable<th>category<th class=n>on the tile<th>live</tr>"+rows.slice(0,60).map(r=>`<tr><td>${esc(V.name[r[1]])}<td>${V.category[r[1]]}<td class=n>${bytes(r[0])}<td>${where(r[1])}</tr>`).join("")}
// liveness
const live=M.not_always_live_by_step;let step=live.indexOf(Math.max(...live));if(step<0)step=0;
const always=M.bytes-sumOf(M.by_tile_and_category.temporaries);
const stepName=s=>s<n?S.kind[s]+(S.operation[s]>=0?" of "+R.operations[S.operation[s]].type+" "+R.operations[S.operation[s]].name:""):"";
function drawLive(){const [g,w,h]=paper($("live")),L=64,W=w-L,top=12,bot=h-22,max=(always+Math.max(1,...live))*1.05,Y=v=>bot-v*(bot-top)/max;axis(g,w,h,max,L,bytes);
 g.fillStyle="#63a4dc88";g.fillRect(L,Y(always),W,bot-Y(always));g.fillStyle="#d6336caa";g.beginPath();g.moveTo(L,Y(always));live.forEach((v,i)=>{g.lineTo(L+i*W/live.length,Y(always+v));g.lineTo(L+(i+1)*W/live.length,Y(always+v))});g.lineTo(w,Y(always));g.fill();
 g.strokeStyle=css("ink");g.beginPath();const x=L+(step+.5)*W/live.length;g.moveTo(x,top);g.lineTo(x,bot);g.stroke();g.fillStyle=css("soft");g.textAlign="right";g.fillText("always live "+bytes(always),w-8,Math.min(bot-4,Y(always)+14));g.textAlign="left";
 for(let i=0;i<=8;i++){const s=Math.round(i*(live.length-1)/8);g.textAlign=i==8?"right":i?"center":"left";g.fillText("step "+s,L+s*W/live.length,h-2)}g.textAlign="left"}
const stepAt=e=>{const r=$("live").getBoundingClientRect();return Math.max(0,Math.min(live.length-1,Math.floor((e.clientX-r.left-64)*live.length/(r.width-64))))};
$("live").onmousemove=e=>{const s=stepAt(e);say(e,"step "+s+"\n"+stepName(s)+"\n"+bytes(live[s])+" not always live")};$("live").onmouseleave=()=>say();
$("live").onclick=e=>{step=stepAt(e);showStep()};
function showStep(){drawLive();$("stepname").textContent="Step "+step+", "+stepName(step)+": "+bytes(live[step]||0);const rows=[],fixed=$("liveness-of").value!="";for(let v=0;v<V.name.length;v++)if(V.always_live[v]?fixed:!fixed&&V.first_step[v]<=step&&step<=V.last_step[v])rows.push(v);rows.sort((a,b)=>V.bytes[b]-V.bytes[a]);
 $("stepvars").innerHTML="<tr><th>variable<th class=n>bytes<th class=n>tiles<th class=n>largest on a tile<th>live</tr>"+rows.slice(0,80).map(v=>`<tr><td>${esc(V.name[v])}<td class=n>${bytes(V.bytes[v])}<td class=n>${V.tiles[v]}<td class=n>${bytes(V.largest_on_tile[v])}<td>${where(v)}</tr>`).join("")}
$("liveness-of").onchange=showStep;
// trace
const start=S.start||[],end=i=>start[i]+total(i),all=E.cycles||1;let from=0,to=all;
const hash=s=>{let h=7;for(const c of s)h=(h*31+c.charCodeAt(0))>>>0;return h},opColor=t=>`hsl(${hash(t)*47%360} 48% ${matchMedia("(prefers-color-scheme:dark)").matches?46:62}%)`;
const rowH=26,ipuH=2*rowH+26;
function drawBsp(){$("bsp").dataset.h=T.ipus*ipuH+30;const [g,w,h]=paper($("bsp")),X=c=>(c-from)*w/(to-from);
 for(let p=0;p<T.ipus;p++){g.fillStyle=css("soft");g.fillText("IPU "+p,2,p*ipuH+12)}
 R.operations.forEach((o,i)=>{if(o.end_step<=o.first_step)return;const a=start[o.first_step],b=end(o.end_step-1);if(b<=from||a>=to||b<=a)return;const x=X(a),x2=X(b);g.fillStyle=opColor(o.type);g.fillRect(x,o.ipu*ipuH+18,Math.max(x2-x-.4,.6),rowH-3);if(x2-x>34){g.save();g.beginPath();g.rect(x,o.ipu*ipuH+18,x2-x-3,rowH);g.clip();g.fillStyle="#10151d";g.fillText(o.type+" "+o.name,Math.max(x,0)+4,o.ipu*ipuH+34);g.restore()}});
 for(let i=0;i<n;i++){const a=start[i],b=end(i);if(b<=from||a>=to||b<=a)continue;g.fillStyle=kindColor(S.kind[i]);g.fillRect(X(a),S.ipu[i]*ipuH+18+rowH,Math.max(X(b)-X(a),.5),rowH)}
 g.fillStyle=css("soft");for(let i=0;i<=6;i++){g.textAlign=i==6?"right":i?"center":"left";g.fillText(int(from+(to-from)*i/6),w*i/6,h-4)}g.textAlign="left"}
const cycleAt=e=>{const r=$("bsp").getBoundingClientRect();return from+(e.clientX-r.left)*(to-from)/r.width};
function stepOf(e){const c=cycleAt(e),y=e.clientY-$("bsp").getBoundingClientRect().top,p=Math.max(0,Math.min(T.ipus-1,Math.floor(y/ipuH)));let s=0;for(let i=0;i<n;i++)if(S.ipu[i]==p&&start[i]<=c)s=i;return s}
$("bsp").addEventListener("wheel",e=>{e.preventDefault();const c=cycleAt(e),f=Math.exp(e.deltaY*.0016),N=all;let a=c-(c-from)*f,b=c+(to-c)*f;if(b-a<20)return;from=Math.max(0,a);to=Math.min(N,b);drawBsp()},{passive:false});
let drag=null;$("bsp").onmousedown=e=>{drag=[e.clientX,from,to]};$("bsp").onmouseup=e=>{if(n&&drag&&Math.abs(e.clientX-drag[0])<3){step=stepOf(e);showStep()}};addEventListener("mouseup",()=>drag=null);$("bsp").ondblclick=()=>{from=0;to=all;drawBsp()};
$("bsp").onmousemove=e=>{if(drag){const r=$("bsp").getBoundingClientRect(),d=(drag[0]-e.clientX)*(drag[2]-drag[1])/r.width,s=Math.max(-drag[1],Math.min((all)-drag[2],d));from=drag[1]+s;to=drag[2]+s;drawBsp();return}
 if(!n)return;const s=stepOf(e);say(e,"step "+s+"  "+stepName(s)+(S.vertex[s]>=0?"\n"+R.vertices[S.vertex[s]]:"")+"\n"+int(S.cycles[s])+" cycles"+(S.repeats[s]!=1?" × "+S.repeats[s]:"")+" on "+S.tiles[s]+" tiles"+(S.kind[s]=="OnTileExecute"?"\nbalance "+pct(S.mean_cycles[s],S.cycles[s]):"")+(S.bytes[s]?"\n"+bytes(S.bytes[s])+" moved":""))};$("bsp").onmouseleave=()=>say();
$("bsplegend").innerHTML=kinds.filter(k=>E.by_kind[k]).map(k=>`<span><i style="background:${kindColor(k)}"></i>${kindName[k]}</span>`).join("");
// operations
const columns=[["type","operator"],["name","name"],["cycles","cycles"],["share","of the run"],["flops","flops"],["share_of_peak","of peak"],["output_bytes","output"],["memory","memory"],["plan","plan"]];let sortBy="cycles",up=false;
// The layer of an operation: the part of its name before the last slash.
const layerOf=o=>{const i=o.name.lastIndexOf("/");return i<0?"":o.name.slice(0,i)};
// Weights that it reads first, its results, and what it needs meanwhile.
R.operations.forEach(o=>o.memory=0);V.operation.forEach((o,v)=>{if(o>=0)R.operations[o].memory+=V.bytes[v]});
// Of the IPU that an operation runs on.
const peak=E.flops&&E.share_of_peak?E.flops/(E.cycles*E.share_of_peak*T.ipus):0;
function grouped(list,by){const m=new Map();list.forEach(o=>{const k=by=="type"?o.type:layerOf(o)||"(others)";let a=m.get(k);if(!a)m.set(k,a={type:by=="type"?k:"",name:by=="type"?"":k,cycles:0,flops:0,output_bytes:0,memory:0,count:0,plan:""});a.cycles+=o.cycles;a.flops+=o.flops;a.output_bytes+=o.output_bytes;a.memory+=o.memory;a.count++});
 return [...m.values()].map(a=>({...a,share_of_peak:a.cycles&&peak?a.flops/(a.cycles*peak):0,plan:a.count+(a.count==1?" operation":" operations")}))}
function vertices(){const m=new Map();for(let i=0;i<n;i++)if(S.vertex[i]>=0){const k=R.vertices[S.vertex[i]];let a=m.get(k);if(!a)m.set(k,a={type:k,name:"",cycles:0,flops:0,output_bytes:0,memory:0,count:0});a.cycles+=total(i);a.flops+=S.flops[i];a.count+=S.repeats[i]}
 return [...m.values()].map(a=>({...a,share_of_peak:a.cycles&&peak?a.flops/(a.cycles*peak):0,plan:a.count+(a.count==1?" compute set":" compute sets")}))}
function showOps(){const q=$("filter").value.toLowerCase(),by=$("group").value;const matches=o=>(o.type+" "+o.name).toLowerCase().includes(q);let list=(by=="vertex"?vertices():R.operations).filter(matches);if(by&&by!="vertex")list=grouped(list,by);const all=list.length,k=sortBy=="share"?"cycles":sortBy;list.sort((a,b)=>(a[k]>b[k]?1:a[k]<b[k]?-1:0)*(up?1:-1));$("opcount").textContent=by?all+" groups":all+" of "+R.operations.length;const num=c=>c!="type"&&c!="name"&&c!="plan";
 const most=Math.max(1,...list.map(o=>o.cycles));
 $("ops").innerHTML="<tr>"+columns.map(c=>`<th data-c="${c[0]}" class="${num(c[0])?"n":""}">${c[1]}${sortBy==c[0]?up?" ↑":" ↓":""}</th>`).join("")+"</tr>"+list.slice(0,600).map(o=>`<tr><td>${esc(o.type)}<td title="${esc(o.name)}">${esc(o.name)}<td class=n>${int(o.cycles)}<td class=n><span class="meter" style="width:${(70*o.cycles/most).toFixed(0)}px"></span>${pct(o.cycles,E.cycles)}<td class=n>${int(o.flops)}<td class=n>${(100*o.share_of_peak).toFixed(1)} %<td class=n>${bytes(o.output_bytes)}<td class=n>${bytes(o.memory)}<td>${esc(o.plan)}</tr>`).join("");
 $("ops").querySelectorAll("th").forEach(h=>h.onclick=()=>{up=sortBy==h.dataset.c?!up:false;sortBy=h.dataset.c;showOps()})}
$("filter").oninput=showOps;$("group").onchange=showOps;
// program tree: programs hold operations, these hold their steps and loops
function tree(){const whole=E.cycles*T.ipus;const inner=R.programs.map(()=>[]);R.programs.forEach((p,i)=>{if(p.parent>=0)inner[p.parent].push(i)});
 const stepsOf=new Map();for(let i=0;i<n;i++){const k=S.program[i]+"/"+S.operation[i];if(!stepsOf.has(k))stepsOf.set(k,[]);stepsOf.get(k).push(i)}
 const own=R.programs.map(()=>0);for(let i=0;i<n;i++)for(let p=S.program[i];p>=0;p=R.programs[p].parent)own[p]+=total(i);
 const runs=R.programs.map(()=>0);R.programs.forEach(p=>{if(p.callee>=0)runs[p.callee]+=p.repeats});
 R.programs.forEach((P,i)=>{if(P.callee>=0)for(let p=i;p>=0;p=R.programs[p].parent)own[p]+=own[P.callee]*P.repeats/runs[P.callee]});
 const stepHtml=i=>`<div class="leaf">${S.kind[i]}${S.vertex[i]>=0?" "+esc(R.vertices[S.vertex[i]]):""}<span>${int(total(i))} cycles</span></div>`;
 const program=(p,open)=>{const P=R.programs[p];let h=`<details ${open?"open":""}><summary>${esc(P.name)}${P.repeats!=1?" × "+P.repeats:""}<span>${int(own[p])} cycles, ${pct(own[p],whole)}</span></summary>`;
  const ops=R.operations.map((o,i)=>[o,i]).filter(x=>x[0].program==p);(stepsOf.get(p+"/-1")||[]).forEach(i=>h+=stepHtml(i));
  const used=new Set();
  const layers=[];ops.forEach(x=>{const k=layerOf(x[0]),last=layers[layers.length-1];if(last&&last.name==k)last.ops.push(x);else layers.push({name:k,ops:[x]})});
  const one=([o,i])=>{const kids=inner[p].filter(c=>R.programs[c].operation==i);kids.forEach(c=>used.add(c));return `<details><summary>${esc(o.type)} ${esc(o.name)}<span>${int(o.cycles)} cycles</span></summary>`+(stepsOf.get(p+"/"+i)||[]).map(stepHtml).join("")+kids.map(c=>program(c,false)).join("")+"</details>"};
  layers.forEach(l=>{const c=l.ops.reduce((a,x)=>a+x[0].cycles,0);h+=l.name&&l.ops.length>1?`<details><summary><b>${esc(l.name)}</b><span>${int(c)} cycles, ${pct(c,whole)}, ${l.ops.length} operations</span></summary>`+l.ops.map(one).join("")+"</details>":l.ops.map(one).join("")});
  if(P.operation>=0)(stepsOf.get(p+"/"+P.operation)||[]).forEach(i=>h+=stepHtml(i));inner[p].filter(c=>!used.has(c)).forEach(c=>h+=program(c,false));return h+"</details>"};
 $("tree").innerHTML=R.programs.map((P,i)=>P.parent<0?program(i,i==0):"").join("")}
// comparison
const mine="#d6336c",theirs="#2f6fb0";let O=null;
function lines(c,a,b,most,ends){const [g,w,h]=paper(c);if(!w)return;const L=64,W=w-L,top=12,bot=h-22,max=Math.max(1,most)*1.05;axis(g,w,h,max,L,bytes);
 [[b,theirs],[a,mine]].forEach(([d,color])=>{g.strokeStyle=color;g.lineWidth=1.3;g.beginPath();const cols=Math.max(1,Math.min(d.length,Math.floor(W)));for(let x=0;x<cols;x++){const from=Math.floor(x*d.length/cols),to=Math.max(from+1,Math.floor((x+1)*d.length/cols)),v=Math.max(...d.slice(from,to)),y=bot-v*(bot-top)/max;if(x)g.lineTo(L+x*W/cols,y);else g.moveTo(L,y);g.lineTo(L+(x+1)*W/cols,y)}g.stroke()});
 g.fillStyle=css("soft");g.fillText(ends[0],L,h-2);g.textAlign="right";g.fillText(ends[1],w,h-2);g.textAlign="left"}
function drawDiff(){if(!O)return;lines($("difftiles"),M.by_tile,O.memory.by_tile,Math.max(M.fullest_tile_bytes,O.memory.fullest_tile_bytes),["first tile","last tile"]);
 const a=M.not_always_live_by_step,b=O.memory.not_always_live_by_step;lines($("difflive"),a,b,Math.max(...a,...b),["first step","last step"])}
function compare(other){O=other;const X=O.execution,rows=[["cycles",E.cycles,X.cycles,int],["microseconds",E.microseconds,X.microseconds,v=>v.toFixed(1)]].concat(kinds.filter(k=>E.by_kind[k]||X.by_kind[k]).map(k=>[kindName[k]+" cycles",E.by_kind[k],X.by_kind[k],int]),[["memory of all tiles",M.bytes,O.memory.bytes,bytes],["fullest tile",M.fullest_tile_bytes,O.memory.fullest_tile_bytes,bytes],["tiles out of memory",M.tiles_out_of_memory,O.memory.tiles_out_of_memory,int]],
  cats.map(c=>["all "+c,sumOf(M.by_tile_and_category[c]),sumOf(O.memory.by_tile_and_category[c]||[]),bytes]),[["flops",E.flops,X.flops,int]]);
 const title=X=>esc(X.model||"model")+" on "+esc(X.target.name);
 const ratio=(a,b)=>a?`<td class="n ${b>a*1.005?"more":b<a*.995?"less":""}">${(b/a).toFixed(3)}`:"<td class=n>–";
 $("diff").innerHTML=`<tr><th><th class=n>this: ${title(R)}<th class=n>other: ${title(O)}<th class=n>other / this</tr>`+rows.filter(r=>r[1]||r[2]).map(r=>`<tr><td>${esc(r[0])}<td class=n>${r[3](r[1])}<td class=n>${r[3](r[2])}${ratio(r[1],r[2])}</tr>`).join("");
 const m=new Map();[R,O].forEach((X,i)=>X.operations.forEach(o=>{const k=o.type+" "+o.name;if(!m.has(k))m.set(k,[0,0]);m.get(k)[i]+=o.cycles}));
 const list=[...m].filter(([,c])=>c[0]!=c[1]).sort((a,b)=>Math.abs(b[1][1]-b[1][0])-Math.abs(a[1][1]-a[1][0]));
 $("diffops").innerHTML="<tr><th>operation<th class=n>this, cycles<th class=n>other<th class=n>difference<th class=n>other / this</tr>"+list.slice(0,30).map(([k,[a,b]])=>`<tr><td>${esc(k)}<td class=n>${int(a)}<td class=n>${int(b)}<td class=n>${b>a?"+":"−"}${int(Math.abs(b-a))}${ratio(a,b)}</tr>`).join("")+(list.length?"":"<tr><td>none</tr>");
 $("difflegend").innerHTML=`<span><i style="background:${mine}"></i>this</span><span><i style="background:${theirs}"></i>other</span>`;$("othername").textContent="";$("compared").hidden=false;drawDiff()}
$("other").onchange=e=>{const f=e.target.files[0];if(f)f.text().then(t=>{const m=t.match(/<script type="application\/json" id="report">(.*?)<\/script>/s);const X=JSON.parse(m?m[1]:t);if(X.schema!=R.schema||X.version!=R.version)throw 0;compare(X)}).catch(()=>{$("othername").textContent=f.name+" is no report of this version"})};
function draw(){drawTiles();drawHeat();drawLive();drawBsp();drawDiff()}
choose(chosen);showStep();drawBsp();showOps();tree();const beside=JSON.parse($("beside").textContent);if(beside)compare(beside);addEventListener("resize",draw);
if(location.hash)document.querySelector(location.hash)?.scrollIntoView({behavior:"instant"});
document.body.dataset.ready="yes";
</script></body></html>
)page";

}  // namespace halftone::ipu
