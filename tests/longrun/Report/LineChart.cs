using System.Globalization;
using System.Text;
using ProtoRpc.Benchmarks.Report;

namespace ProtoRpc.LongRun.Report;

/// <summary>Draws measures over time as lines, in SVG.</summary>
/// <remarks>Each panel has its own scale, which begins at zero.</remarks>
internal static class LineChart
{
    private const int Left = 70;
    private const int LinesWidth = ChartSheet.Width - Left - 20;
    private const int LinesHeight = 90;
    private const int PanelHead = 34;
    private const int PanelHeight = PanelHead + LinesHeight + 14;
    private const int Foot = 40;
    private static readonly string[] Styles = ["first", "second"];

    public static string Draw(string title, IReadOnlyList<LinePanel> panels)
    {
        double seconds = panels.SelectMany(panel => panel.Lines).SelectMany(line => line.Points)
            .Max(point => point.Seconds);
        StringBuilder svg = new();
        int y = ChartSheet.TitleHeight;
        foreach (LinePanel panel in panels)
        {
            Draw(svg, panel, y, seconds);
            y += PanelHeight;
        }

        DrawMinutes(svg, y, seconds);
        return ChartSheet.Draw(title, y + Foot, svg.ToString());
    }

    private static void Draw(StringBuilder svg, LinePanel panel, int y, double seconds)
    {
        double most = Math.Max(1, panel.Lines.SelectMany(line => line.Points).Max(point => point.Value));
        int bottom = y + PanelHead + LinesHeight;
        svg.AppendLine(CultureInfo.InvariantCulture, $"""
            <text class="panel" x="12" y="{y + 20}">{ChartSheet.Text(panel.Name)}</text>
            <line class="axis" x1="{Left}" y1="{bottom}" x2="{Left + LinesWidth}" y2="{bottom}"/>
            <text x="{Left - 8}" y="{bottom}" text-anchor="end">0</text>
            <text x="{Left - 8}" y="{y + PanelHead + 10}" text-anchor="end">{ChartSheet.Number(most)}</text>
            """);
        for (int i = 0; i < panel.Lines.Count; i++)
        {
            Line line = panel.Lines[i];
            string points = string.Join(' ', line.Points.Select(point =>
                ChartSheet.Number(Left + (point.Seconds / seconds * LinesWidth)) + ","
                + ChartSheet.Number(bottom - (point.Value / most * LinesHeight))));
            int x = Left + LinesWidth - (150 * (panel.Lines.Count - i));
            svg.AppendLine(CultureInfo.InvariantCulture, $"""
                <polyline class="line {Styles[i]}" points="{points}"/>
                <line class="line {Styles[i]}" x1="{x}" y1="{y + 16}" x2="{x + 24}" y2="{y + 16}"/>
                <text x="{x + 32}" y="{y + 20}">{ChartSheet.Text(line.Name)}</text>
                """);
        }
    }

    private static void DrawMinutes(StringBuilder svg, int y, double seconds)
    {
        const int Marks = 4;
        for (int i = 0; i <= Marks; i++)
        {
            string x = ChartSheet.Number(Left + ((double)i / Marks * LinesWidth));
            string minutes = ChartSheet.Number(seconds / 60 * i / Marks);
            svg.AppendLine(
                CultureInfo.InvariantCulture,
                $"<text x=\"{x}\" y=\"{y + 16}\" text-anchor=\"{(i == Marks ? "end" : "middle")}\">"
                + $"{minutes}{(i == Marks ? " minutes" : "")}</text>");
        }
    }
}
