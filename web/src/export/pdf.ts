// A figure as PDF: vectors, embedded fonts, the data's hash and the link in its properties. Loaded when it is
// first asked for. The same figure gives the same bytes: date and id are those of the data.
import regular from "@expo-google-fonts/inter/400Regular/Inter_400Regular.ttf?url";
import bold from "@expo-google-fonts/inter/600SemiBold/Inter_600SemiBold.ttf?url";
import { jsPDF } from "jspdf";
import { svg2pdf } from "svg2pdf.js";
import { base64, type Figure, plainSvg } from "./figure";

async function addFont(document: jsPDF, url: string, weight: number): Promise<void> {
  const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
  const file = `Inter-${weight}.ttf`;
  document.addFileToVFS(file, base64(bytes));
  document.addFont(file, "Inter", "normal", weight);
}

export async function pdfOf(figure: Figure): Promise<Blob> {
  const { width, height } = figure.picture;
  const pdf = new jsPDF({
    unit: "pt",
    format: [width, height],
    orientation: width >= height ? "landscape" : "portrait",
    compress: true,
  });
  await addFont(pdf, regular, 400);
  await addFont(pdf, bold, 600);
  pdf.setFont("Inter", "normal", 400);
  pdf.setCreationDate(new Date(0));
  pdf.setFileId(figure.hash.slice(0, 32).toUpperCase());
  pdf.setProperties({
    title: "Corral figure",
    subject: figure.link,
    keywords: `sha256:${figure.hash}`,
  });
  const svg = new DOMParser().parseFromString(plainSvg(figure), "image/svg+xml").documentElement;
  svg.setAttribute("font-family", "Inter");
  await svg2pdf(svg, pdf, { x: 0, y: 0, width, height });
  return pdf.output("blob");
}
