using System.Text;

namespace ProtoRpc.Benchmarks.Report;

/// <summary>A page of <c>docs/benchmarks</c>: what was measured and how, a chart, a table.</summary>
internal sealed class ReportPage
{
    private readonly StringBuilder _text = new();
    private readonly string _folder;
    private readonly string _name;
    private int _charts;

    /// <param name="folder">Where pages are kept.</param>
    /// <param name="name">The page's file, without its extension.</param>
    /// <param name="title">What the page is about.</param>
    public ReportPage(string folder, string name, string title)
    {
        _folder = folder;
        _name = name;
        _text.Append("# ").AppendLine(title).AppendLine();
    }

    public ReportPage Paragraph(string text)
    {
        _text.AppendLine(text).AppendLine();
        return this;
    }

    public ReportPage Heading(string text)
    {
        _text.Append("## ").AppendLine(text).AppendLine();
        return this;
    }

    /// <summary>Draws a chart into a file beside the page.</summary>
    public ReportPage Chart(string title, string unit, IReadOnlyList<ChartPanel> panels)
    {
        string file = _charts++ == 0 ? $"{_name}.svg" : $"{_name}-{_charts}.svg";
        File.WriteAllText(Path.Combine(_folder, file), BarChart.Draw(title, unit, panels));
        _text.AppendLine($"![{title}, {unit}]({file})").AppendLine();
        return this;
    }

    public ReportPage Table(IReadOnlyList<string> headings, IEnumerable<IReadOnlyList<string>> rows)
    {
        Row(headings);
        Row([.. headings.Select(_ => "---")]);
        foreach (IReadOnlyList<string> row in rows)
        {
            Row(row);
        }

        _text.AppendLine();
        return this;
    }

    /// <summary>Writes the page, with the machine and the command that repeats it at its end.</summary>
    public void Save(string command)
    {
        Paragraph(MachineFacts.Describe());
        Paragraph($"Again: `dotnet run -c Release --project tests/benchmarks -- {command}`");
        string path = Path.Combine(_folder, $"{_name}.md");
        File.WriteAllText(path, _text.ToString().TrimEnd().ReplaceLineEndings("\n") + "\n");
        Console.WriteLine(path);
    }

    private void Row(IReadOnlyList<string> cells) =>
        _text.Append("| ").AppendJoin(" | ", cells).AppendLine(" |");
}
