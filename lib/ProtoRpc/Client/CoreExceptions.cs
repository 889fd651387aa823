using System.Security;

namespace ProtoRpc.Client;

/// <summary>Creates common exceptions of the core library without reflection, for trimmed programs.</summary>
internal static class CoreExceptions
{
    private static readonly Dictionary<string, Func<string, Exception>> Makers = new(StringComparer.Ordinal)
    {
        ["System.AggregateException"] = text => new AggregateException(text),
        ["System.ApplicationException"] = text => new ApplicationException(text),
        // Without an inner exception, the only text argument of these three is the name of a parameter.
        ["System.ArgumentNullException"] = text => new ArgumentNullException(text, innerException: null),
        ["System.ArgumentOutOfRangeException"] =
            text => new ArgumentOutOfRangeException(text, innerException: null),
        ["System.ObjectDisposedException"] = text => new ObjectDisposedException(text, innerException: null),
        ["System.ArgumentException"] = text => new ArgumentException(text),
        ["System.ArithmeticException"] = text => new ArithmeticException(text),
        ["System.Collections.Generic.KeyNotFoundException"] = text => new KeyNotFoundException(text),
        ["System.DivideByZeroException"] = text => new DivideByZeroException(text),
        ["System.Exception"] = text => new Exception(text),
        ["System.FormatException"] = text => new FormatException(text),
        ["System.IndexOutOfRangeException"] = text => new IndexOutOfRangeException(text),
        ["System.InvalidCastException"] = text => new InvalidCastException(text),
        ["System.InvalidOperationException"] = text => new InvalidOperationException(text),
        ["System.IO.DirectoryNotFoundException"] = text => new DirectoryNotFoundException(text),
        ["System.IO.EndOfStreamException"] = text => new EndOfStreamException(text),
        ["System.IO.FileNotFoundException"] = text => new FileNotFoundException(text),
        ["System.IO.IOException"] = text => new IOException(text),
        ["System.IO.PathTooLongException"] = text => new PathTooLongException(text),
        ["System.NotImplementedException"] = text => new NotImplementedException(text),
        ["System.NotSupportedException"] = text => new NotSupportedException(text),
        ["System.NullReferenceException"] = text => new NullReferenceException(text),
        ["System.OperationCanceledException"] = text => new OperationCanceledException(text),
        ["System.OutOfMemoryException"] = text => new OutOfMemoryException(text),
        ["System.OverflowException"] = text => new OverflowException(text),
        ["System.PlatformNotSupportedException"] = text => new PlatformNotSupportedException(text),
        ["System.Security.SecurityException"] = text => new SecurityException(text),
        ["System.SystemException"] = text => new SystemException(text),
        ["System.Threading.Tasks.TaskCanceledException"] = text => new TaskCanceledException(text),
        ["System.TimeoutException"] = text => new TimeoutException(text),
        ["System.UnauthorizedAccessException"] = text => new UnauthorizedAccessException(text),
    };

    /// <summary>The names of the types.</summary>
    public static IReadOnlyCollection<string> TypeNames => Makers.Keys;

    /// <summary>Creates an exception of a type; null for types that are not listed here.</summary>
    public static Exception? Create(string typeName, string message) =>
        Makers.TryGetValue(typeName, out Func<string, Exception>? make) ? make(message) : null;
}
