using System.Globalization;
using ProtoRpc.Benchmarks.Report;
using ProtoRpc.Benchmarks.Shell;

namespace ProtoRpc.Benchmarks.Codec;

/// <summary>The page about what happens to a message within one process.</summary>
internal static class CodecPage
{
    private const string Unit = "microseconds, less is better";

    public static void Write(string folder, BenchmarkOptions options)
    {
        MicroGroup[] codecs = [.. CodecBenchmark.Measure(options)];
        MicroGroup mapping = MappingBenchmark.Measure(options);
        MicroGroup framing = FramingBenchmark.Measure(options);
        ReportPage page = new ReportPage(folder, "codec", "Messages: encoding, mapping and framing")
            .Paragraph(
                """
                What happens to a message within one process, without a network. **Generated** messages are of
                the classes that protoc generates, **dynamic** messages are of a schema that is loaded at run
                time.
                """)
            .Paragraph(MicroRace.Describe(options))
            .Paragraph(
                """
                A bar is that time; its line goes from the fastest turn to the median of the turns.
                """)
            .Heading("Dynamic messages against generated code")
            .Paragraph(
                """
                **encode** encodes a message that was made by code, **encode decoded** one that was decoded
                before. **encode IMessage** and **size IMessage** go through Google.Protobuf. **make by
                names** sets fields of dynamic messages by their names.
                """)
            .Chart("Dynamic and generated messages", Unit, [.. codecs.Select(group => group.Panel)]);
        foreach (MicroGroup group in codecs)
        {
            page.Paragraph($"{group.Name}:").Table(group.Headings, group.Cells);
        }

        page.Heading("Objects and messages")
            .Paragraph(
                """
                Dictionaries of a script become messages, and the bytes of the same messages become
                dictionaries. Each message has one field that is set; **no field** is what the message itself
                costs.
                """)
            .Chart("Objects and messages", Unit, mapping.PanelOfEachWay)
            .Table(WithoutRatio(mapping.Headings), mapping.Cells.Select(WithoutRatio))
            .Heading("Framing")
            .Paragraph(
                """
                A request and its reply of that size, written and read on both sides, from memory to memory.
                **native** is DCE/RPC with its fragments. **length and bytes** copies as many bytes behind
                their length.
                """)
            .Chart("Framing", Unit, [framing.Panel])
            .Table(framing.Headings, framing.Cells)
            .Heading("The shell's objects and JSON");
        WriteShell(page, options);
        page.Save(options.CommandOf("codec"));
    }

    // These two columns are no two ways to do the same.
    private static string[] WithoutRatio(string[] cells) => [.. cells[..3], .. cells[4..]];

    private static void WriteShell(ReportPage page, BenchmarkOptions options)
    {
        if (ShellScript.WhyNot() is string reason)
        {
            page.Paragraph($"Not measured: {reason}");
            return;
        }

        IReadOnlyList<ShellResult> results = ShellScript.Run(options, "convert");
        ChartPanel[] panels = [.. results.GroupBy(result => result.Group).Select(ShellResult.Panel)];
        page.Paragraph("In PowerShell, the module's cmdlets against those of the shell.")
            .Chart("Conversions in PowerShell", results[0].Unit, panels)
            .Table(
                ["what", "how", results[0].Unit, "microseconds"],
                results.Select(result => (string[])
                [
                    result.Group,
                    result.Name,
                    ResultTable.Rate(ResultTable.Median(result.Values)),
                    (1e6 / ResultTable.Median(result.Values)).ToString("N0", CultureInfo.InvariantCulture),
                ]));
    }
}
