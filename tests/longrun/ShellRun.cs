using System.ComponentModel;
using System.Diagnostics;
using System.Globalization;
using System.Text.Json;
using ProtoRpc.Fuzz;
using ProtoRpc.LongRun.Measures;

namespace ProtoRpc.LongRun;

/// <summary>The module in a PowerShell of its own, under load until it is stopped.</summary>
internal sealed class ShellRun : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromMinutes(1);
    private static readonly JsonSerializerOptions Names = new(JsonSerializerDefaults.Web);

    private readonly Process _process;
    private readonly List<Sample> _samples = [];
    private readonly List<string> _failures = [];
    private readonly Task _reading;

    private ShellRun(Process process)
    {
        _process = process;
        _reading = Task.WhenAll(ReadSamplesAsync(), ReadErrorsAsync());
    }

    /// <summary>What was measured; complete after <see cref="StopAsync"/>.</summary>
    public IReadOnlyList<Sample> Samples => _samples;

    public IReadOnlyList<string> Failures => _failures;

    /// <summary>Starts it; null where PowerShell is not installed.</summary>
    public static ShellRun? Start(TimeSpan period)
    {
        string module = Environment.GetEnvironmentVariable("PROTORPC_MODULE")
            ?? Path.Combine(Root.Folder, "ProtoRpc.psd1");
        ProcessStartInfo start = new("pwsh")
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            ArgumentList =
            {
                "-NoProfile", "-NonInteractive", "-File", Path.Combine(AppContext.BaseDirectory, "shell.ps1"),
                "-Module", module,
                "-Proto", Path.Combine(AppContext.BaseDirectory, "protos", "streams.proto"),
                "-Period", period.TotalSeconds.ToString(CultureInfo.InvariantCulture),
            },
        };
        try
        {
            return new ShellRun(Process.Start(start)!);
        }
        catch (Win32Exception)
        {
            return null;
        }
    }

    /// <summary>Lets it end after its turn.</summary>
    public async Task StopAsync()
    {
        try
        {
            _process.StandardInput.Close();
            await _process.WaitForExitAsync().WaitAsync(Patience);
            await _reading.WaitAsync(Patience);
            if (_process.ExitCode != 0)
            {
                _failures.Add($"The shell ended with {_process.ExitCode}.");
            }
        }
        catch (TimeoutException)
        {
            _failures.Add($"The shell did not end in {Patience.TotalSeconds} seconds.");
        }
    }

    public void Dispose()
    {
        if (!_process.HasExited)
        {
            _process.Kill(entireProcessTree: true);
        }

        _process.Dispose();
    }

    private async Task ReadSamplesAsync()
    {
        while (await _process.StandardOutput.ReadLineAsync() is { } line)
        {
            try
            {
                using JsonDocument json = JsonDocument.Parse(line);
                if (json.RootElement.TryGetProperty("failure", out JsonElement failure))
                {
                    AddFailure(failure.GetString()!);
                }
                else
                {
                    _samples.Add(json.RootElement.Deserialize<Sample>(Names)!);
                }
            }
            catch (JsonException)
            {
                AddFailure(line);
            }
        }
    }

    private async Task ReadErrorsAsync()
    {
        while (await _process.StandardError.ReadLineAsync() is { } line)
        {
            AddFailure(line);
        }
    }

    private void AddFailure(string text)
    {
        lock (_failures)
        {
            _failures.Add(text);
        }
    }
}
