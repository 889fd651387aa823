using System.Diagnostics;

namespace ProtoRpc.Benchmarks.Scale;

/// <summary>One number of parts, measured.</summary>
/// <param name="Size">The number.</param>
/// <param name="Milliseconds">The time of the fastest run.</param>
/// <param name="AllocatedBytes">What a run allocates in the whole process, at least.</param>
/// <param name="HeldBytes">The memory that each part holds; null where it is not measured.</param>
internal sealed record ScalePoint(int Size, double Milliseconds, double AllocatedBytes, double? HeldBytes);

/// <summary>How the cost of a subject grows.</summary>
/// <param name="Subject">The subject.</param>
/// <param name="Points">Its points, the smallest number first.</param>
internal sealed record ScaleCurve(ScaleSubject Subject, IReadOnlyList<ScalePoint> Points)
{
    // What a single part costs is lost in what the first one needs, and small numbers stay in the processor's
    // caches, so the largest ones count.
    private const int Counted = 3;

    private const int Runs = 7;

    /// <summary>The exponent of the time: 1 for a time that doubles with the number of parts.</summary>
    public double TimeExponent => ExponentOf(point => point.Milliseconds);

    /// <summary>The exponent of what is allocated.</summary>
    public double MemoryExponent => ExponentOf(point => point.AllocatedBytes);

    /// <summary>Measures a subject. The fastest of several runs counts, which other programs of the machine
    /// change the least.</summary>
    public static ScaleCurve Measure(ScaleSubject subject)
    {
        // Code is compiled in full before the first figure.
        using (ScaleCase warm = subject.Create(subject.Sizes.Last()))
        {
            for (long end = Environment.TickCount64 + 2000; Environment.TickCount64 < end;)
            {
                warm.Run();
            }
        }

        return new ScaleCurve(subject, [.. subject.Sizes.Select(size => Measure(subject, size))]);
    }

    private static ScalePoint Measure(ScaleSubject subject, int size)
    {
        using ScaleCase one = subject.Create(size);
        one.Run();
        double time = double.MaxValue;
        double memory = double.MaxValue;
        for (int i = 0; i < Runs; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            long allocated = GC.GetTotalAllocatedBytes(precise: true);
            long start = Stopwatch.GetTimestamp();
            one.Run();
            time = Math.Min(time, Stopwatch.GetElapsedTime(start).TotalMilliseconds);
            memory = Math.Min(memory, GC.GetTotalAllocatedBytes(precise: true) - allocated);
        }

        return new ScalePoint(size, time, memory, one.HeldBytes);
    }

    // The slope of the line through the logarithms, by least squares.
    private double ExponentOf(Func<ScalePoint, double> value)
    {
        (double X, double Y)[] logs =
        [
            .. Points.TakeLast(Counted)
                .Select(point => (Math.Log2(point.Size), Math.Log2(Math.Max(1e-6, value(point))))),
        ];
        double x = logs.Average(log => log.X);
        double y = logs.Average(log => log.Y);
        return logs.Sum(log => (log.X - x) * (log.Y - y)) / logs.Sum(log => (log.X - x) * (log.X - x));
    }
}
