using Xunit.Abstractions;

namespace ProtoRpc.WineTests;

/// <summary>xunit's options, at their defaults but for one test after the other:
/// exceptions that several threads throw at the same time overflow stacks under Wine.</summary>
internal sealed class FrameworkOptions : ITestFrameworkDiscoveryOptions, ITestFrameworkExecutionOptions
{
    private readonly Dictionary<string, object?> _values = new()
    {
        ["xunit.execution.DisableParallelization"] = true,
    };

    public TValue GetValue<TValue>(string name) =>
        _values.TryGetValue(name, out object? value) ? (TValue)value! : default!;

    public void SetValue<TValue>(string name, TValue value) => _values[name] = value;
}
