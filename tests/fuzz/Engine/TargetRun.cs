using System.Diagnostics;
using System.Globalization;
using System.Security.Cryptography;

namespace ProtoRpc.Fuzz.Engine;

/// <summary>Runs inputs of one target: keeps those that take a new way through the code, and changes
/// these.</summary>
internal sealed class TargetRun : IDisposable
{
    private const int MaxKept = 4096;
    private const int MaxFailures = 8;
    private const int MostChanges = 6;

    private readonly FuzzTarget _target;
    private readonly FuzzOptions _options;
    private readonly Watchdog _watchdog;
    private readonly Random _random;
    private readonly Coverage _coverage = new();
    private readonly Meter _meter = new();
    private readonly List<byte[]> _kept = [];
    private readonly HashSet<string> _signatures = new(StringComparer.Ordinal);
    private RunningInput? _running;

    public TargetRun(FuzzTarget target, FuzzOptions options, Watchdog watchdog)
    {
        _target = target;
        _options = options;
        _watchdog = watchdog;
        // Each target has inputs of its own, whichever others run.
        byte[] name = SHA256.HashData(System.Text.Encoding.UTF8.GetBytes(target.Name));
        _random = new Random(options.Seed ^ BitConverter.ToInt32(name));
        Result = new TargetResult(target.Name, target.Promise) { BytesPerByte = target.BytesPerByte };
    }

    public TargetResult Result { get; }

    /// <summary>Runs new inputs until it is time.</summary>
    public void RunUntil(long timestamp)
    {
        if (_running is null)
        {
            _running = new RunningInput(_options.Out, _target.Name);
            Begin();
        }

        while (Stopwatch.GetTimestamp() < timestamp && Result.Failures.Count < MaxFailures)
        {
            Try(Next());
        }

        Result.Branches = _coverage.Branches;
    }

    /// <summary>Runs one input and says how it fails.</summary>
    /// <returns>Whether it does not.</returns>
    public bool Repeat(byte[] input)
    {
        Exception? error = Fails(input);
        Console.WriteLine(error is null ? $"{_target.Name}: holds." : $"{_target.Name}: {error}");
        return error is null;
    }

    /// <summary>Whether time grows with the inputs and no faster.</summary>
    public void CheckGrowth()
    {
        foreach (GrowingInput shape in _target.Growing())
        {
            Result.Growths++;
            _watchdog.Begin($"It is of the shape '{shape.Name}' of {_target.Name}.");
            if (GrowthCheck.Check(_target, shape) is { } problem)
            {
                Result.Failures.Add(new Failure(shape.Name, $"{_target.Name}: {problem}"));
            }

            _watchdog.End();
        }
    }

    public void Dispose()
    {
        _running?.Dispose();
        _target.Dispose();
    }

    private void Begin()
    {
        foreach (byte[] seed in _target.Seeds())
        {
            Try(seed);
            if (_kept.Count == 0 || !_target.IsGuided)
            {
                _kept.Add(seed);
            }
        }
    }

    private byte[] Next()
    {
        byte[]? input = _kept.Count == 0 || _random.Next(8) == 0 ? _target.Generate(_random) : null;
        if (input is not null && _random.Next(3) == 0)
        {
            return input;
        }

        // Those that were found last are on the way to something new.
        int last = _kept.Count;
        input ??= _kept[_random.Next(2) == 0 ? _random.Next(last)
            : last - 1 - _random.Next(Math.Min(last, 64))];
        for (int i = 1 + _random.Next(MostChanges); i > 0; i--)
        {
            input = _target.Mutator.Change(_random, input, _kept);
        }

        return input.Length <= _target.MaxLength ? input : input[.._target.MaxLength];
    }

    private void Try(byte[] input)
    {
        Result.Inputs++;
        _running!.Set(input);
        _watchdog.Begin($"{Repetition(_running.Path)}");
        Exception? error = Fails(input);
        _watchdog.End();
        if (_target.IsGuided && _coverage.Add() && _kept.Count < MaxKept)
        {
            _kept.Add(input);
            Result.Kept++;
        }

        if (error is not null)
        {
            Save(input, error);
        }
    }

    private Exception? Fails(byte[] input)
    {
        Exception? error = RunOnce(input, isCounted: true);

        // What is only made once, as the layout of a type, is not allocated again.
        for (int i = 0; i < 3 && error is MemoryException; i++)
        {
            error = RunOnce(input, isCounted: false);
        }

        if (error is null && _target.BytesPerByte is not null)
        {
            double factor = (_meter.Allocated - _target.FixedBytes) / (double)Math.Max(1, input.Length);
            Result.WorstBytesPerByte = Math.Max(Result.WorstBytesPerByte, factor);
        }

        return error;
    }

    private Exception? RunOnce(byte[] input, bool isCounted)
    {
        // A target may write into its input, and what is saved must be what came.
        byte[] copy = [.. input];
        _meter.Reset();
        Coverage.Clear();
        try
        {
            bool isAccepted = _target.Run(copy, _meter);
            Result.Accepted += isAccepted && isCounted ? 1 : 0;
            return _target.BytesPerByte is { } factor
                && _meter.Allocated > _target.FixedBytes + ((long)factor * input.Length)
                    ? new MemoryException(_meter.Allocated, input.Length)
                    : null;
        }
#pragma warning disable CA1031 // What else could come is what this looks for.
        catch (Exception e)
#pragma warning restore CA1031
        {
            return e;
        }
    }

    private void Save(byte[] input, Exception error)
    {
        string signature = SignatureOf(error);
        if (!_signatures.Add(signature))
        {
            return;
        }

        byte[] small = Reduce(input, signature);
        string hash = Convert.ToHexStringLower(SHA256.HashData(small))[..12];
        string path = Path.Combine(_options.Out, $"{_target.Name}-{hash}.bin");
        File.WriteAllBytes(path, small);
        string text = string.Create(
            CultureInfo.InvariantCulture,
            $"{_target.Name}: {small.Length} bytes: {error}\n{Repetition(path)}");
        Result.Failures.Add(new Failure(signature, text));
        // At once, since a run may have no end.
        Console.Error.WriteLine($"FOUND {text}");
    }

    // Leaves out whatever is not needed to fail the same way.
    private byte[] Reduce(byte[] input, string signature)
    {
        int tries = 500;
        for (int size = input.Length / 2; size > 0; size /= 2)
        {
            for (int at = 0; at + size <= input.Length && tries-- > 0;)
            {
                byte[] less = [.. input.AsSpan(0, at), .. input.AsSpan(at + size)];
                if (Fails(less) is { } error && SignatureOf(error) == signature)
                {
                    input = less;
                }
                else
                {
                    at += size;
                }
            }
        }

        return input;
    }

    private static string SignatureOf(Exception error)
    {
        string? frame = error.StackTrace?.Split('\n')
            .FirstOrDefault(line => line.Contains("ProtoRpc.", StringComparison.Ordinal));
        string what = error is InvariantException ? error.Message.Split(':')[0] : "";
        return $"{error.GetType().Name} {what} {frame?.Trim()}";
    }

    private string Repetition(string path) =>
        $"Repeat: dotnet run -c Release --project tests/fuzz -- --target {_target.Name} --input {path}";
}
