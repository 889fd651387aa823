using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Reflection;
using System.Security.Cryptography.X509Certificates;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Options;
using ProtoRpc.AspNetCore.Http;
using ProtoRpc.Messages.Mapping;
using ProtoRpc.Protocols.Dce;
using ProtoRpc.Transports.Tls;

namespace ProtoRpc.AspNetCore.Application;

/// <summary>Reads the section of the configuration into the options, and checks them at the start.</summary>
internal sealed class HostOptionsSetup(IConfiguration? configuration = null, IHostEnvironment? host = null)
    : IConfigureOptions<RpcHostOptions>, IValidateOptions<RpcHostOptions>
{
    private const string Limits = "Limits";
    private const string Security = "Security";
    private const string Http = "Http";
    private const string Certificate = "Certificate";

    public void Configure(RpcHostOptions options)
    {
        if (configuration?.GetSection(RpcHostOptions.Section) is not { } section)
        {
            return;
        }

        RpcServerOptions server = options.Server with
        {
            Limits = options.Server.Limits with { },
            Security = options.Server.Security with { },
        };
        SectionReader.Read(section.GetSection(Limits), server.Limits);
        SectionReader.Read(section.GetSection(Security), server.Security);
        HttpServerOptions http = options.Http with { };
        SectionReader.Read(section.GetSection(Http), http);
        SectionReader.Read(
            section, server,
            Limits, Security, Http, Certificate, nameof(options.Endpoints), nameof(options.HealthPeriod));
        options.Http = http;
        SectionReader.ReadTime(
            section.GetSection(nameof(options.HealthPeriod)), time => options.HealthPeriod = time);
        if (SectionReader.ListOf(section.GetSection(nameof(options.Endpoints))) is { Length: > 0 } endpoints)
        {
            options.Endpoints = [.. endpoints];
        }

        if (CertificateSection.Read(
            section.GetSection(Certificate),
            host?.ContentRootPath ?? Environment.CurrentDirectory) is { } certificate)
        {
            server = server with
            {
                Certificate = certificate.Certificate,
                CertificateChain = certificate.Chain,
            };
        }

        options.Server = server;
    }

    public ValidateOptionsResult Validate(string? name, RpcHostOptions options)
    {
        List<string> failures = [];
        for (int i = 0; i < options.Endpoints.Count; i++)
        {
            Try($"{RpcHostOptions.Section}:{nameof(options.Endpoints)}:{i}",
                () => RpcEndpoint.Parse(options.Endpoints[i]));
        }

        Try($"{RpcHostOptions.Section}:{Limits}", () => NativeLimits.Check(options.Server.Limits));
        Try($"{RpcHostOptions.Section}:{Http}:{nameof(options.Http.AllowedHosts)}",
            () => _ = new HostPolicy(options.Http, RpcEndpoint.Parse("http://127.0.0.1/")));
        if (options.HealthPeriod < TimeSpan.FromMilliseconds(1))
        {
            failures.Add(
                $"The setting '{RpcHostOptions.Section}:{nameof(options.HealthPeriod)}' cannot be used: "
                + $"{options.HealthPeriod} is less than a millisecond.");
        }

        return failures.Count > 0 ? ValidateOptionsResult.Fail(failures) : ValidateOptionsResult.Success;

        void Try(string path, Action check)
        {
            try
            {
                check();
            }
            catch (RpcException e)
            {
                failures.Add($"The setting '{path}' cannot be used: {e.Message}");
            }
        }
    }
}

/// <summary>Reads a section of the configuration into properties. A key that is no setting, or a value that
/// does not fit, is an error with the path of the key.</summary>
internal static class SectionReader
{
    private const BindingFlags Settable = BindingFlags.Public | BindingFlags.Instance;

    /// <summary>Sets the properties of an object that the section names.</summary>
    /// <param name="section">The section.</param>
    /// <param name="target">A private copy: init-only properties are also set.</param>
    /// <param name="others">Keys of the section that are read elsewhere.</param>
    /// <exception cref="OptionsValidationException">A key or a value that cannot be used.</exception>
    public static void Read<[DynamicallyAccessedMembers(DynamicallyAccessedMemberTypes.PublicProperties)] T>(
        IConfiguration section, T target, params ReadOnlySpan<string> others)
        where T : class
    {
        PropertyInfo[] properties =
            [.. typeof(T).GetProperties(Settable).Where(p => p.CanWrite && IsRead(p.PropertyType))];
        foreach (IConfigurationSection entry in section.GetChildren())
        {
            if (others.Contains(entry.Key, StringComparer.OrdinalIgnoreCase))
            {
                continue;
            }

            PropertyInfo property = properties.FirstOrDefault(
                p => p.Name.Equals(entry.Key, StringComparison.OrdinalIgnoreCase))
                ?? throw Unknown(entry, [.. properties.Select(p => p.Name), .. others]);
            property.SetValue(target, ValueOf(entry, property.PropertyType));
        }
    }

    /// <summary>The texts of a list, or a single one.</summary>
    public static string[] ListOf(IConfigurationSection section) => section.Value is { Length: > 0 } only
        ? [only]
        : [.. section.GetChildren().Select(child => child.Value
            ?? throw Invalid(child.Path, "it is a section; write a single value"))];

    public static string? TextOf(IConfigurationSection section) => section.GetChildren().Any()
        ? throw Invalid(section.Path, "it is a section; write a single value")
        : section.Value;

    /// <summary>Reads a time, if the setting exists.</summary>
    public static void ReadTime(IConfigurationSection section, Action<TimeSpan> set)
    {
        if (section.Value is not null)
        {
            set((TimeSpan)ValueOf(section, typeof(TimeSpan))!);
        }
    }

    public static OptionsValidationException Invalid(string path, string what) =>
        new(Options.DefaultName, typeof(RpcHostOptions), [$"The setting '{path}' cannot be used: {what}."]);

    public static OptionsValidationException Unknown(
        IConfigurationSection entry, IEnumerable<string> known) => Invalid(
        entry.Path,
        "there is no such setting. Its section has "
        + string.Join(", ", known.Order(StringComparer.Ordinal)));

    private static bool IsRead(Type type)
    {
        Type bare = Nullable.GetUnderlyingType(type) ?? type;
        return bare == typeof(string) || bare == typeof(bool) || bare == typeof(int) || bare == typeof(long)
            || bare == typeof(TimeSpan) || bare.IsEnum || bare == typeof(IReadOnlyList<string>);
    }

    private static object? ValueOf(IConfigurationSection entry, Type type)
    {
        if (type == typeof(IReadOnlyList<string>))
        {
            return ListOf(entry);
        }

        Type bare = Nullable.GetUnderlyingType(type) ?? type;
        string? text = TextOf(entry)?.Trim();
        if (bare == typeof(string) || (string.IsNullOrEmpty(text) && bare != type))
        {
            return string.IsNullOrEmpty(text) ? null : text;
        }

        return Parse(bare, text ?? "")
            ?? throw Invalid(entry.Path, $"'{TerminalText.Neutralize(text ?? "")}' is not {Wanted(bare)}");
    }

    private static object? Parse(Type type, string text)
    {
        CultureInfo culture = CultureInfo.InvariantCulture;
        if (type == typeof(bool))
        {
            return bool.TryParse(text, out bool flag) ? flag : null;
        }

        if (type == typeof(int))
        {
            return int.TryParse(text, NumberStyles.None, culture, out int number) ? number : null;
        }

        if (type == typeof(long))
        {
            return long.TryParse(text, NumberStyles.None, culture, out long number) ? number : null;
        }

        if (type == typeof(TimeSpan))
        {
            return text.Equals("Infinite", StringComparison.OrdinalIgnoreCase) ? Timeout.InfiniteTimeSpan
                : DurationText.TryParse(text) is { } time && time >= TimeSpan.Zero ? time
                : null;
        }

        // Enum.TryParse also accepts numbers, which are not names.
        return !text.Any(char.IsAsciiDigit) && Enum.TryParse(type, text, ignoreCase: true, out object? value)
            ? value
            : null;
    }

    private static string Wanted(Type type) =>
        type == typeof(bool) ? "true or false"
        : type == typeof(int) ? $"a whole number from 0 to {int.MaxValue}"
        : type == typeof(long) ? $"a whole number from 0 to {long.MaxValue}"
        : type == typeof(TimeSpan) ? $"a time: {DurationText.Forms}, or Infinite"
        : $"one of {string.Join(", ", Enum.GetNames(type))}";
}

/// <summary>Reads the certificate that a section of the configuration names.</summary>
internal static class CertificateSection
{
    /// <summary>Reads the certificate with its key, and the other certificates in the file.</summary>
    /// <param name="section">Path, Password and KeyPath.</param>
    /// <param name="folder">The base of relative paths.</param>
    public static (X509Certificate2 Certificate, X509Certificate2Collection Chain)? Read(
        IConfigurationSection section, string folder)
    {
        if (!section.Exists())
        {
            return null;
        }

        string[] known = ["Path", "Password", "KeyPath"];
        foreach (IConfigurationSection entry in section.GetChildren())
        {
            if (!known.Contains(entry.Key, StringComparer.OrdinalIgnoreCase))
            {
                throw SectionReader.Unknown(entry, known);
            }
        }

        IConfigurationSection path = section.GetSection("Path");
        string file = PathOf(path, folder)
            ?? throw SectionReader.Invalid(path.Path, "it is missing; set it to the file of the certificate");
        string? password = SectionReader.TextOf(section.GetSection("Password"));
        try
        {
            return CertificateFile.ReadWithKey(file, PathOf(section.GetSection("KeyPath"), folder), password);
        }
        catch (Exception e) when (CertificateFile.IsProblem(e))
        {
            throw SectionReader.Invalid(
                path.Path, $"'{file}' cannot be read: {FileProblem.Describe(e, file)}");
        }
    }

    private static string? PathOf(IConfigurationSection section, string folder) =>
        SectionReader.TextOf(section) is { Length: > 0 } path ? Path.Combine(folder, path) : null;
}
